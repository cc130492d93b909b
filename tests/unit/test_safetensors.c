/* The safetensors format: what is read from a right file, and what is said of wrong ones. */
#include "workloads/safetensors.h"

#include "tests/unit/safetensors_writer.h"

#include <glib/gstdio.h>

typedef struct Place {
    char *folder, *path;
} Place;

static void place_init(Place *place, gconstpointer data) {
    (void)data;
    place->folder = g_dir_make_tmp("safetensors-XXXXXX", NULL);
    g_assert_nonnull(place->folder);
    place->path = g_build_filename(place->folder, "w.safetensors", NULL);
}

static void place_clear(Place *place, gconstpointer data) {
    (void)data;
    g_remove(place->path);
    g_assert_cmpint(g_rmdir(place->folder), ==, 0);
    g_free(place->path);
    g_free(place->folder);
}

static Safetensors *open_right(const char *path) {
    g_autoptr(GError) error = NULL;
    Safetensors *file = safetensors_open(path, &error);
    g_assert_no_error(error);
    return file;
}

/* 'expected' follows the file's path in the message. */
static void assert_refused(const char *path, const char *expected) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Safetensors) file = safetensors_open(path, &error);
    g_assert_null(file);
    g_assert_nonnull(error);
    g_assert_true(error->domain == INPUT_ERROR);
    g_assert_true(g_str_has_prefix(error->message, path));
    g_assert_cmpstr(error->message + strlen(path), ==, expected);
}

static const SafetensorsTensor *tensor_at(const Safetensors *file, guint i) {
    g_assert_cmpuint(i, <, file->tensors->len);
    return g_ptr_array_index(file->tensors, i);
}

static void test_tensors_are_found_by_offset(Place *place, gconstpointer data) {
    (void)data;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"late\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[6,14]},"
        "\"none\":{\"dtype\":\"BF16\",\"shape\":[0,4],\"data_offsets\":[6,6]},"
        "\"early\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},"
        "\"scalar\":{\"data_offsets\":[14,16],\"dtype\":\"BF16\",\"shape\":[]}}   ";
    static const struct {
        const char *name, *shape;
        DataType type;
        guint64 begin, elements;
    } rows[] = {
        {"early", "[3]", DATA_TYPE_FP16, 0, 3},
        {"none", "[0, 4]", DATA_TYPE_BF16, 6, 0},
        {"late", "[1, 2]", DATA_TYPE_FP32, 6, 2},
        {"scalar", "[]", DATA_TYPE_BF16, 14, 1},
    };
    write_safetensors(place->path, header, "0123456789abcdef", 16);
    g_autoptr(Safetensors) file = open_right(place->path);
    g_assert_cmpuint(file->tensors->len, ==, G_N_ELEMENTS(rows));
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const SafetensorsTensor *tensor = tensor_at(file, i);
        g_autofree char *shape = safetensors_shape_text(tensor);
        g_assert_cmpstr(tensor->name, ==, rows[i].name);
        g_assert_cmpstr(tensor->path, ==, place->path);
        g_assert_cmpstr(shape, ==, rows[i].shape);
        g_assert_cmpuint(tensor->data_type, ==, rows[i].type);
        g_assert_cmpuint(tensor->elements, ==, rows[i].elements);
        g_assert_cmpuint(tensor->offset, ==, 8 + strlen(header) + rows[i].begin);
        g_assert_cmpint(
            memcmp(tensor->data, "0123456789abcdef" + rows[i].begin, 16 - rows[i].begin), ==, 0);
    }
}

static void test_a_file_may_be_empty_of_tensors(Place *place, gconstpointer data) {
    (void)data;
    write_safetensors(place->path, "{}", NULL, 0);
    g_autoptr(Safetensors) file = open_right(place->path);
    g_assert_cmpuint(file->tensors->len, ==, 0);
}

#define ENTRY(name, form, offsets) "\"" name "\": {" form ", \"data_offsets\": " offsets "}"
#define F16_4 "\"dtype\": \"F16\", \"shape\": [4]"

typedef struct Case {
    const char *header, *message;
} Case;

/* Each with 16 bytes of data. */
static const Case cases[] = {
    {"", ": the header at byte 8 must begin with '{'"},
    {"[]", ": the header at byte 8 must begin with '{'"},
    {"{\"a\": ", ": header:2:1: did not find expected node content"},
    {"{\"a\": {}}{}", ": header:1:10: did not find expected <document start>"},
    {"{\"a\": 3}",
     ": header:1:7: expected an object with dtype, shape and data_offsets for 'a', not '3'"},
    {"{\"a\": {}}", ": header:1:7: missing key 'dtype' in tensor 'a'"},
    {"{\"a\": {" F16_4 "}}", ": header:1:7: missing key 'data_offsets' in tensor 'a'"},
    {"{" ENTRY("a", F16_4 ", \"data_offset\": 1", "[0, 8]") "}",
     ": header:1:38: unknown key 'data_offset' in tensor 'a' (did you mean 'data_offsets'?)"},
    {"{" ENTRY("", F16_4, "[0, 8]") "}", ": header:1:2: a tensor needs a name"},
    {"{" ENTRY("a\\nb", F16_4, "[0, 8]") "}",
     ": header:1:2: a tensor's name cannot hold control characters"},
    {"{" ENTRY("a", "\"dtype\": \"F61\", \"shape\": [4]", "[0, 8]") "}",
     ": header:1:17: unknown dtype 'F61' (did you mean 'F16'?); expected 'F16', 'BF16' or 'F32'"},
    {"{" ENTRY("a", "\"dtype\": \"I64\", \"shape\": [2]", "[0, 16]") "}",
     ": header:1:17: unknown dtype 'I64'; expected 'F16', 'BF16' or 'F32'"},
    {"{" ENTRY("a", "\"dtype\": \"F16\", \"shape\": 4", "[0, 8]") "}",
     ": header:1:33: expected a list of dimensions for 'shape', not '4'"},
    {"{" ENTRY("a", "\"dtype\": \"F16\", \"shape\": [-4]", "[0, 8]") "}",
     ": header:1:34: 'shape' must be at least 0, not -4"},
    {"{" ENTRY("a", "\"dtype\": \"F16\", \"shape\": [9007199254740992, 9007199254740992]",
               "[0, 8]") "}",
     ": header:1:52: tensor 'a' is too large to count"},
    {"{" ENTRY("a", "\"dtype\": \"F32\", \"shape\": [9007199254740992, 1024]", "[0, 8]") "}",
     ": header:1:75: tensor 'a' is F32 [9007199254740992, 1024], but has 8 bytes"},
    {"{" ENTRY("a", F16_4, "8") "}",
     ": header:1:54: expected a begin and an end for 'data_offsets', not '8'"},
    {"{" ENTRY("a", F16_4, "[8]") "}",
     ": header:1:54: expected a begin and an end for 'data_offsets', not 1 values"},
    {"{" ENTRY("a", F16_4, "[0, \"8\"]") "}",
     ": header:1:58: expected a whole number for 'data_offsets', not the text '8'"},
    {"{" ENTRY("a", F16_4, "[8, 0]") "}", ": header:1:54: tensor 'a' ends before it begins"},
    {"{" ENTRY("a", F16_4, "[16, 24]") "}",
     ": header:1:54: tensor 'a' ends at byte 24 of the data, but the file has 16"},
    {"{" ENTRY("a", F16_4, "[0, 6]") "}", ": header:1:54: tensor 'a' is F16 [4], but has 6 bytes"},
    {"{" ENTRY("a", F16_4, "[0, 8]") ", " ENTRY("a", F16_4, "[8, 16]") "}",
     ": header:1:63: duplicate key 'a' (first on line 1)"},
    {"{" ENTRY("a", F16_4, "[0, 8]") ", " ENTRY("b", F16_4, "[6, 14]") "}",
     ": tensors 'a' and 'b' overlap at byte 137"},
    {"{" ENTRY("b", F16_4, "[0, 8]") ", " ENTRY("a", F16_4, "[0, 8]") "}",
     ": tensors 'a' and 'b' overlap at byte 130"},
    {"{" ENTRY("a", F16_4, "[8, 16]") "}", ": no tensor holds the 8 bytes from byte 70"},
    {"{" ENTRY("a", F16_4, "[0, 8]") "}", ": no tensor holds the 8 bytes from byte 77"},
    {"{}", ": no tensor holds the 16 bytes from byte 10"},
    {"{\"__metadata__\": 3}",
     ": header:1:18: expected an object of texts for '__metadata__', not '3'"},
};

static void test_wrong_headers_are_refused(Place *place, gconstpointer data) {
    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        write_safetensors(place->path, cases[i].header, "0123456789abcdef", 16);
        assert_refused(place->path, cases[i].message);
    }
}

static void assert_bytes_refused(const char *path, const char *bytes, gsize n_bytes,
                                 const char *expected) {
    write_bytes(path, bytes, n_bytes);
    assert_refused(path, expected);
}

static void test_broken_files_are_refused(Place *place, gconstpointer data) {
    (void)data;
    static const char truncated[100] = {0, 16}, huge[8] = "12345678", null[] = "\2\0\0\0\0\0\0\0{",
                      pointer[] = "version https://git-lfs.github.com/spec/v1\n";
    assert_bytes_refused(place->path, "", 0,
                         ": the file has 0 bytes, too few for the header's length");
    assert_bytes_refused(place->path, "abc", 3,
                         ": the file has 3 bytes, too few for the header's length");
    assert_bytes_refused(place->path, truncated, sizeof truncated,
                         ": the header says 4096 bytes, but the file has 100");
    assert_bytes_refused(place->path, huge, sizeof huge,
                         ": the header says 4050765991979987505 bytes, but the file has 8");
    assert_bytes_refused(place->path, pointer, sizeof pointer - 1,
                         ": this is a Git LFS pointer, not the weights");
    assert_bytes_refused(place->path, null, sizeof null,
                         ": the header holds a null character at byte 9");
}

/* Every beginning of a right file but the whole is wrong. */
static void test_every_truncation_is_noticed(Place *place, gconstpointer data) {
    (void)data;
    g_auto(SafetensorsWriter) writer = safetensors_writer();
    safetensors_writer_add(&writer, "a", F16_4, "01234567", 8);
    safetensors_writer_add(&writer, "b", F16_4, "01234567", 8);
    safetensors_writer_save(&writer, place->path, 0);
    g_autofree char *bytes = NULL;
    gsize n_bytes;
    g_assert_true(g_file_get_contents(place->path, &bytes, &n_bytes, NULL));
    for (gsize kept = 0; kept < n_bytes; kept++) {
        g_autoptr(GError) error = NULL;
        write_bytes(place->path, bytes, kept);
        g_assert_null(safetensors_open(place->path, &error));
        g_assert_true(error->domain == INPUT_ERROR);
    }
}

static void test_what_is_no_file_is_refused(Place *place, gconstpointer data) {
    (void)data;
    g_autofree char *missing =
        g_strdup_printf(": cannot read '%s': No such file or directory", place->path);
    g_autofree char *folder =
        g_strdup_printf(": cannot read '%s': not a regular file", place->folder);
    assert_refused(place->path, missing);
    assert_refused(place->folder, folder);
}

#define ADD(name, test) g_test_add(name, Place, NULL, place_init, test, place_clear)

int main(int argc, char **argv) {
    g_test_init(&argc, &argv, NULL);
    ADD("/safetensors/tensors_are_found_by_offset", test_tensors_are_found_by_offset);
    ADD("/safetensors/a_file_may_be_empty_of_tensors", test_a_file_may_be_empty_of_tensors);
    ADD("/safetensors/wrong_headers_are_refused", test_wrong_headers_are_refused);
    ADD("/safetensors/broken_files_are_refused", test_broken_files_are_refused);
    ADD("/safetensors/every_truncation_is_noticed", test_every_truncation_is_noticed);
    ADD("/safetensors/what_is_no_file_is_refused", test_what_is_no_file_is_refused);
    return g_test_run();
}
