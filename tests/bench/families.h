// Families of kernel benchmarks; each function registers the benchmarks of one family.
#pragma once

namespace weft::bench {

/// Matrix products, compared with OpenBLAS if CMake found it.
void add_matmul_benchmarks();
/// Matrix products and attention at each precision, compared with kernels of fused multiply-adds.
void add_precision_benchmarks();
/// Products of one to eight rows with f32, bf16, int8 and int4 weights that are read from memory,
/// compared with only reading the same memory.
void add_weights_benchmarks();
/// Arithmetic and activations such as add and gelu, at sizes that do and do not fit in the caches.
void add_elementwise_benchmarks();
/// A fused elementwise chain, compared with a cache-bypassing copy of the same bytes.
void add_fused_benchmarks();
/// The overhead of sharing a short phase between two threads.
void add_workers_benchmarks();
/// softmax, norms, cross-entropy, attention.
void add_network_benchmarks();

}  // namespace weft::bench
