// Selects the engine for a product from a static table, based on shape, precision and CPU features.
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

const GemmEngine& choose_engine(DType result, DType a, DType b, Precision precision, std::int64_t m,
                                std::int64_t n, std::int64_t k) {
  // A bfloat16 number is a single term. If both matrices are bfloat16, one product of terms is the
  // complete product.
  if (a == DType::bf16 && b == DType::bf16) precision = Precision::medium;
  if (result == DType::f32) {
    if (const GemmEngine* split = choose_bf16_split_engine(precision, m, n, k, b == DType::bf16))
      return *split;
  }
  return fma_engine(result);
}

}  // namespace weft::kernels
