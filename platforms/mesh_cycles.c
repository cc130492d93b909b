#include "platforms/mesh_cycles.h"

static const VectorSpec *vector_of(const MeshSpec *mesh, DataType type) {
    return type == DATA_TYPE_FP32 ? &mesh->fp32 : &mesh->fp16;
}

double mesh_vector_cycles(const MeshSpec *mesh, DataType type, guint64 elements) {
    const VectorSpec *vector = vector_of(mesh, type);
    guint64 rounds = elements / vector->lanes + (elements % vector->lanes > 0);

    return elements == 0 ? 0 : mesh->issue_cycles + vector->cycles * (double)rounds;
}

double mesh_gemm_cycles(const MeshSpec *mesh, DataType type, guint64 m, guint64 k, guint64 n) {
    return (double)k * (double)n * mesh_vector_cycles(mesh, type, m);
}

double mesh_gemv_cycles(const MeshSpec *mesh, DataType type, guint64 k, guint64 n) {
    return (double)k * mesh_vector_cycles(mesh, type, n);
}

guint64 mesh_wavelets(const MeshSpec *mesh, DataType type, guint64 elements) {
    guint64 bytes = elements * data_type_bytes(type);

    return bytes / mesh->wavelet_bytes + (bytes % mesh->wavelet_bytes > 0);
}

double mesh_peak_macs_per_cycle(const MeshSpec *mesh, DataType type) {
    const VectorSpec *vector = vector_of(mesh, type);

    return (double)vector->lanes / vector->cycles;
}
