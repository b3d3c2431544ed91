// Families of kernel benchmarks. Each function registers the benchmarks of one family.
#pragma once

namespace weft::bench {

/// Matrix products, compared with OpenBLAS if CMake found it.
void add_matmul_benchmarks();
/// Grouped matrix products, compared with dense products of the same number of rows.
void add_grouped_benchmarks();
/// Matrix products and attention at each precision, compared with FMA kernels.
void add_precision_benchmarks();
/// Products of one to eight rows with f32, bf16, int8 and int4 weights, and attention of one query
/// with cached keys and values, all of which are read from memory. They are compared with reading
/// the same memory without computing.
void add_weights_benchmarks();
/// Arithmetic and activations, such as add and gelu, at sizes that fit in the caches and at larger
/// sizes.
void add_elementwise_benchmarks();
/// A fused elementwise chain, compared with a cache-bypassing copy of the same bytes.
void add_fused_benchmarks();
/// The overhead of splitting a short phase between two threads.
void add_workers_benchmarks();
/// softmax, norms, cross-entropy, attention.
void add_network_benchmarks();

}  // namespace weft::bench
