/* A machine as data: compute elements ("clusters") of one kind in processors in nodes, their
 * memories, and the network between them. Of kind 'wafer' the compute elements are whole meshes of
 * cores, one a node: what is said of clusters holds for wafers then, 'cluster' and 'hthreads' are
 * all zero, and 'mesh' describes one of them. Of kind 'gpu' they are GPUs, a node's in one
 * processor: 'gpu' describes one, and of 'cluster' only what is said of its DDR is not zero, which
 * stands for the GPU's memory. Read from YAML; everything else about a machine is derived here. A
 * new machine of a known kind needs a new file, no code. */
#ifndef PLATFORMS_PLATFORM_H
#define PLATFORMS_PLATFORM_H

#include "workloads/model.h"
#include "workloads/yaml_reader.h"

G_BEGIN_DECLS

typedef enum { DEVICE_MT3000, DEVICE_WAFER, DEVICE_GPU } DeviceKind;
typedef enum { NETWORK_STAR, NETWORK_FAT_TREE } NetworkTopology;

/* One compute element and the memory it reads from. */
typedef struct ClusterSpec {
    guint64 dsps; /* cores that share the work of a kernel */
    double clock_hz;
    guint64 macs_per_cycle_fp32; /* per DSP */
    guint64 macs_per_cycle_fp16; /* per DSP; also bf16 */
    double peak_fp32_macs_per_s; /* dsps · clock · width, checked */
    double peak_fp16_macs_per_s;
    double sm_bytes, am_bytes; /* per DSP */
    double gsm_bytes;          /* per cluster */
    double ddr_bytes;          /* installed */
    double ddr_usable_bytes;   /* for weights, KV and overhead (THInfer eq. 16) */
    double ddr_bytes_per_s;
    double gsm_bytes_per_s;          /* between GSM and the SM and AM of all DSPs together */
    double softmax_cycles_per_score; /* of a DSP, in attention's blocks */
    double reference_bytes_per_s;    /* at which unblocked FP32 kernels touch memory */
} ClusterSpec;

typedef struct HthreadsSpec {
    double create_group_s; /* once a thread group (eq. 10) */
    double launch_group_s; /* once a kernel */
} HthreadsSpec;

typedef struct LinkSpec {
    double bytes_per_s; /* each way */
    double latency_s;
} LinkSpec;

typedef struct NetworkSpec {
    NetworkTopology topology;
    LinkSpec local;         /* between clusters of one processor, per cluster */
    LinkSpec port;          /* MPI out of and into one cluster, staged through the CPUs */
    LinkSpec nic;           /* of a node, shared by its clusters */
    guint64 nodes_per_leaf; /* fat tree: nodes under one leaf switch */
    guint64 uplinks;        /* fat tree: links from a leaf switch to the spine */
    LinkSpec uplink;        /* each of them */
    LinkSpec all_reduce; /* what a rank reaches in all-reduces at most, each way (protocol, staging
                            through CPUs), and what each one takes besides; a bandwidth of 0: what
                            the links give, and nothing besides */
} NetworkSpec;

/* An operation of n elements on a core: issue + cycles · ⌈n / lanes⌉. */
typedef struct VectorSpec {
    guint64 lanes;
    double cycles;
} VectorSpec;

/* A mesh of cores with memories of their own: a PLMR device (WaferLLM 3.1). A link carries a
 * wavelet a cycle, in each direction of each of a core's four sides. */
typedef struct MeshSpec {
    guint64 columns, rows; /* the usable rectangle */
    double clock_hz;
    double sram_bytes;   /* of a core */
    double usable_bytes; /* of it, for data: what the runtime leaves */
    guint64 wavelet_bytes;
    double hop_cycles;     /* from core to core on a path set up in hardware (alpha) */
    double relay_cycles;   /* more where software receives, looks and sends on (beta) */
    double ramp_cycles;    /* between a core and its router, each way */
    double issue_cycles;   /* of a vector operation */
    VectorSpec fp16, fp32; /* multiply-accumulates; fp16 also bf16 */
    guint64 routing_paths; /* that a core can tell apart */
    double step_cycles;    /* software of a step of a compute-shift loop, besides its kernel */
    double layer_cycles;   /* software of a decode layer, besides its kernels and collectives */
} MeshSpec;

/* A GPU. Rates are those of data sheets, in floating-point operations, of which a
 * multiply-accumulate is two; the shares are what kernels reach of them. */
typedef struct GpuSpec {
    double peak_fp16_flops_per_s; /* tensor cores; also bf16 */
    double peak_fp32_flops_per_s; /* vector units */
    double compute_share;         /* of a peak, reached by kernels */
    double memory_bytes;          /* installed */
    double usable_bytes;          /* for weights, KV and overhead */
    double bytes_per_s;           /* of its memory */
    double bandwidth_share;       /* of that, reached by kernels */
    double launch_s;              /* once a kernel */
} GpuSpec;

/* A node below its devices' memories: where weights lie that do not fit there. */
typedef struct HostSpec {
    double memory_bytes;         /* of a node; 0: nothing is known of the host */
    double link_bytes_per_s;     /* from pinned memory to one device, beside its computing */
    double pageable_bytes_per_s; /* from pageable memory, which the device waits for */
    double disk_bytes_per_s;     /* of a node, shared by the devices that read at once */
} HostSpec;

typedef struct PowerSpec {
    double cluster_idle_watts;
    double cluster_busy_watts; /* while a step runs */
    double node_watts;         /* CPUs, NIC, memory: always on */
} PowerSpec;

typedef struct Platform {
    char *name;
    DeviceKind kind;
    guint64 nodes;
    guint64 processors_per_node;
    guint64 clusters_per_processor;
    ClusterSpec cluster;
    HthreadsSpec hthreads;
    MeshSpec mesh; /* of kind wafer */
    GpuSpec gpu;   /* of kind gpu */
    HostSpec host; /* clusters and GPUs; optional */
    NetworkSpec network;
    PowerSpec power;
    GPtrArray *sources; /* pairs of char *: dotted field name, where its number is from */
} Platform;

/* Reads the section and checks it across fields: peaks, usable ≤ installed memory, every key of
 * 'sources' names a field. */
Platform *platform_read(const YamlNode *section, GError **error);
void platform_free(Platform *platform);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Platform, platform_free)
void platform_write(const Platform *platform, guint indent, GString *out);

guint platform_clusters(const Platform *platform); /* all of them; ids 0 … n−1 */
guint platform_processor_of(const Platform *platform, guint cluster); /* global processor id */
guint platform_node_of(const Platform *platform, guint cluster);
/* Multiply-accumulates a second of one cluster at its peak for 'type'. */
double platform_peak_macs(const Platform *platform, DataType type);
/* Bytes a second that kernels reach of the off-chip memory of a cluster or GPU. */
double platform_memory_bytes_per_s(const Platform *platform);
/* What so many compute elements are called: "cluster", "clusters", "wafers", "GPUs". */
const char *platform_elements_name(DeviceKind kind, guint64 n);
const char *platform_kind_name(DeviceKind kind); /* as in files */

G_END_DECLS

#endif
