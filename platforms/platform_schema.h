/* What a platform's section of YAML looks like: the tables of its keys, one for each form that a
 * section takes (its kind, and for clusters how nodes are joined). For platform_read.c alone. */
#ifndef PLATFORMS_PLATFORM_SCHEMA_H
#define PLATFORMS_PLATFORM_SCHEMA_H

#include "platforms/platform.h"

#define PLATFORM_MAX_SOURCES 64
#define PLATFORM_MAX_FIELDS 16

/* The section as it is read and printed: what has another type in a Platform stands beside it, and
 * every source has a place of its own, in the order of the fields that they speak of. */
typedef struct PlatformSection {
    Platform platform;
    double wavelet_bytes;
    char *sources[PLATFORM_MAX_SOURCES];
} PlatformSection;

extern const YamlEnum platform_kinds;
extern const YamlEnum platform_topologies;
/* Keys of 'network' that exist only in a fat tree; ends with NULL. */
extern const char *const platform_fat_tree_keys[];

/* The keys of one form. The last field is 'sources', whose own keys follow from the others. */
typedef struct PlatformSchema {
    gsize n_fields;
    YamlField fields[PLATFORM_MAX_FIELDS];
    GPtrArray *names; /* of the sources' fields: dotted keys */
    YamlField sources[PLATFORM_MAX_SOURCES];
} PlatformSchema;

/* 'topology' matters to kind mt3000 alone. */
PlatformSchema *platform_schema_new(DeviceKind kind, NetworkTopology topology);
void platform_schema_free(PlatformSchema *schema);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlatformSchema, platform_schema_free)

#endif
