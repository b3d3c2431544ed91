// The benchmarks by family: each function registers its own.
#pragma once

namespace weft::bench {

/// Matrix products, beside OpenBLAS where it was found.
void add_matmul_benchmarks();
/// Products at each precision, beside fused multiply-adds.
void add_precision_benchmarks();
/// Products of one to eight rows with f32, bf16, int8 and int4 weights from memory, beside reading
/// it.
void add_weights_benchmarks();
/// add, gelu and their like at sizes in and out of cache.
void add_elementwise_benchmarks();
/// A fused chain beside a streaming copy of the same bytes.
void add_fused_benchmarks();
/// What sharing a short phase among two threads costs.
void add_workers_benchmarks();
/// softmax, norms, cross-entropy, attention.
void add_network_benchmarks();

}  // namespace weft::bench
