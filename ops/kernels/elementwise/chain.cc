#include "weft/ops/kernels/elementwise/chain.h"

#include "weft/ops/kernels/elementwise/binary.h"
#include "weft/ops/kernels/elementwise/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/chain.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::ChainRows;
using kernels::ChainStep;
using kernels::PrefetchRow;

// The accumulator and the registers A and B are separate variables, because on some targets,
// vectors cannot be array elements. They occupy three times eight vector registers, which leaves
// eight vector registers for temporaries.
#define WEFT_EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
constexpr size_t kVectors = 8;

#define WEFT_DECLARE(k) auto v##k = hn::Zero(d), a##k = v##k, b##k = v##k;
#define WEFT_LOAD(k) v##k = hn::LoadU(d, p + k * n);
#define WEFT_STORE(k) hn::StoreU(v##k, d, p + k * n);
#define WEFT_STREAM(k) hn::Stream(v##k, d, p + k * n);
#define WEFT_KEEP_A(k) a##k = v##k;
#define WEFT_KEEP_B(k) b##k = v##k;
#define WEFT_TAKE_A(k) v##k = a##k;
#define WEFT_TAKE_B(k) v##k = b##k;
#define WEFT_ALONE(k) v##k = op(d, v##k);
#define WEFT_SELF(k) v##k = op(d, v##k, v##k);
#define WEFT_ROW(k) v##k = op(d, v##k, hn::LoadU(d, p + k * n));
#define WEFT_ROW_FIRST(k) v##k = op(d, hn::LoadU(d, p + k * n), v##k);
#define WEFT_SCALAR(k) v##k = op(d, v##k, s);
#define WEFT_SCALAR_FIRST(k) v##k = op(d, s, v##k);
#define WEFT_A(k) v##k = op(d, v##k, a##k);
#define WEFT_A_FIRST(k) v##k = op(d, a##k, v##k);
#define WEFT_B(k) v##k = op(d, v##k, b##k);
#define WEFT_B_FIRST(k) v##k = op(d, b##k, v##k);

// Defines a step: its label, its operation, and the jump to the next step.
#define WEFT_STEP(name, setup, F) \
  name : {                        \
    setup;                        \
    WEFT_EACH(F)                  \
  }                               \
  ++step;                         \
  goto * step->label;

#define WEFT_UNARY(label, Op) WEFT_STEP(label, const Op op, WEFT_ALONE)
#define WEFT_BINARY(label, Op)                                                               \
  WEFT_STEP(label##_self, const Op op, WEFT_SELF)                                            \
  WEFT_STEP(label##_row, const Op op; const T* const p = step->at + i, WEFT_ROW)             \
  WEFT_STEP(label##_row_first, const Op op; const T* const p = step->at + i, WEFT_ROW_FIRST) \
  WEFT_STEP(label##_scalar, const Op op; const auto s = hn::Set(d, *step->at), WEFT_SCALAR)  \
  WEFT_STEP(label##_scalar_first, const Op op;                                               \
            const auto s = hn::Set(d, *step->at), WEFT_SCALAR_FIRST)                         \
  WEFT_STEP(label##_a, const Op op, WEFT_A)                                                  \
  WEFT_STEP(label##_a_first, const Op op, WEFT_A_FIRST)                                      \
  WEFT_STEP(label##_b, const Op op, WEFT_B)                                                  \
  WEFT_STEP(label##_b_first, const Op op, WEFT_B_FIRST)
// The labels are in the order of ChainForm.
#define WEFT_LABELS(label)                                                                      \
  &&label##_self, &&label##_row, &&label##_row_first, &&label##_scalar, &&label##_scalar_first, \
      &&label##_a, &&label##_a_first, &&label##_b, &&label##_b_first

// Prefetches into the L2 cache. In the L1 cache, prefetched lines would evict the rows in use, and
// the L1 cache supports too few outstanding misses.
HWY_INLINE void fetch(const ChainRows& rows, size_t begin, size_t end) {
  for (size_t r = 0; r < rows.prefetch_rows; ++r) {
    const PrefetchRow& row = rows.prefetch[r];
    for (size_t i = begin; i < HWY_MIN(end, row.bytes); i += 64) {
      __builtin_prefetch(row.at + i, 0, 2);
    }
  }
}

/// A step with resolved addresses.
template <class T>
struct ResolvedStep {
  const void* label;
  T* at;
  const ChainStep* step;
};

// A single function that jumps from step to step, so that the accumulator stays in registers. (With
// one function per step that calls the next function, the compiler would have to pass vectors in
// registers, which clang decides based on the target of the whole file. A switch takes 1.5 times as
// long.)
template <class T>
void chain(const ChainStep* steps, size_t count, const ChainRows& rows) {
  const Full<T> d;
  const size_t n = hn::Lanes(d), block = kVectors * n;
  WEFT_EACH(WEFT_DECLARE)
  // The labels are in the order of ChainOp.
  static const void* const kLabels[] = {&&load,
                                        &&store,
                                        &&keep_a,
                                        &&keep_b,
                                        &&take_a,
                                        &&take_b,
                                        &&neg,
                                        &&abs,
                                        &&sign,
                                        &&square,
                                        &&sqrt,
                                        &&rsqrt,
                                        &&reciprocal,
                                        &&relu,
                                        &&clamp,
                                        WEFT_LABELS(add),
                                        WEFT_LABELS(sub),
                                        WEFT_LABELS(mul),
                                        WEFT_LABELS(div),
                                        WEFT_LABELS(maximum),
                                        WEFT_LABELS(minimum)};
  static_assert(sizeof(kLabels) / sizeof(kLabels[0]) == kernels::kChainCodes);
  ResolvedStep<T> resolved[kernels::kMaxChainSteps + 1];
  for (size_t k = 0; k < count; ++k) {
    const bool nontemporal = (steps[k].result & rows.nontemporal) != 0;
    resolved[k] = {nontemporal ? &&stream : kLabels[steps[k].code],
                   static_cast<T*>(rows.at[steps[k].pointer]), steps + k};
  }
  resolved[count].label = &&end;

  const size_t elements = static_cast<size_t>(rows.blocks) * block;
  for (size_t i = 0; i < elements; i += block) {
    if (rows.prefetch_rows != 0) fetch(rows, i * sizeof(T), (i + block) * sizeof(T));
    const ResolvedStep<T>* step = resolved;
    goto * step->label;

    WEFT_STEP(load, const T* const p = step->at + i, WEFT_LOAD)
    WEFT_STEP(store, T* const p = step->at + i, WEFT_STORE)
    WEFT_STEP(stream, T* const p = step->at + i, WEFT_STREAM)
    WEFT_STEP(keep_a, , WEFT_KEEP_A)
    WEFT_STEP(keep_b, , WEFT_KEEP_B)
    WEFT_STEP(take_a, , WEFT_TAKE_A)
    WEFT_STEP(take_b, , WEFT_TAKE_B)
    WEFT_UNARY(neg, Neg)
    WEFT_UNARY(abs, Abs)
    WEFT_UNARY(sign, Sign)
    WEFT_UNARY(square, Square)
    WEFT_UNARY(sqrt, Sqrt)
    WEFT_UNARY(rsqrt, Rsqrt)
    WEFT_UNARY(reciprocal, Reciprocal)
    WEFT_UNARY(relu, Relu)
    WEFT_STEP(clamp, const Clamp op({step->step->reals[0], step->step->reals[1]}), WEFT_ALONE)
    WEFT_BINARY(add, Add)
    WEFT_BINARY(sub, Sub)
    WEFT_BINARY(mul, Mul)
    WEFT_BINARY(div, Div)
    WEFT_BINARY(maximum, Maximum)
    WEFT_BINARY(minimum, Minimum)
  end:;
  }
}

}  // namespace

void RunChain(DType dtype, const ChainStep* steps, size_t count, const ChainRows& rows) {
  return dtype == DType::f32 ? chain<float>(steps, count, rows) : chain<double>(steps, count, rows);
}

size_t ChainBlock(DType dtype) {
  return kVectors * (dtype == DType::f32 ? hn::Lanes(Full<float>()) : hn::Lanes(Full<double>()));
}

#undef WEFT_EACH
#undef WEFT_DECLARE
#undef WEFT_LOAD
#undef WEFT_STORE
#undef WEFT_STREAM
#undef WEFT_KEEP_A
#undef WEFT_KEEP_B
#undef WEFT_TAKE_A
#undef WEFT_TAKE_B
#undef WEFT_ALONE
#undef WEFT_SELF
#undef WEFT_ROW
#undef WEFT_ROW_FIRST
#undef WEFT_SCALAR
#undef WEFT_SCALAR_FIRST
#undef WEFT_A
#undef WEFT_A_FIRST
#undef WEFT_B
#undef WEFT_B_FIRST
#undef WEFT_STEP
#undef WEFT_UNARY
#undef WEFT_BINARY
#undef WEFT_LABELS

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(RunChain);
HWY_EXPORT(ChainBlock);
namespace kernels {

// Row kernels are identified by their function pointers. A chain therefore computes the same result
// as the op's own kernel, whichever OpRecord the kernel comes from.
std::optional<ChainOp> chain_op(const RowKernel& kernel, DType dtype) {
  constexpr std::pair<const char*, ChainOp> kUnary[] = {
      {"neg", ChainOp::neg},   {"abs", ChainOp::abs},
      {"sign", ChainOp::sign}, {"square", ChainOp::square},
      {"sqrt", ChainOp::sqrt}, {"rsqrt", ChainOp::rsqrt},
      {"relu", ChainOp::relu}, {"reciprocal", ChainOp::reciprocal},
  };
  constexpr std::pair<const char*, ChainOp> kBinary[] = {
      {"add", ChainOp::add}, {"sub", ChainOp::sub},         {"mul", ChainOp::mul},
      {"div", ChainOp::div}, {"maximum", ChainOp::maximum}, {"minimum", ChainOp::minimum},
  };
  if (dtype != DType::f32 && dtype != DType::f64) return std::nullopt;
  for (const auto& [op, chained] : kUnary) {
    if (kernel.function == unary_row(op, dtype)) return chained;
  }
  for (const auto& [op, chained] : kBinary) {
    if (kernel.function == binary_row(op, dtype)) return chained;
  }
  if (kernel.function == clamp_row(dtype, 0, 0).function) return ChainOp::clamp;
  return std::nullopt;
}

std::int64_t chain_block(DType dtype) {
  return static_cast<std::int64_t>(HWY_DYNAMIC_DISPATCH(ChainBlock)(dtype));
}

void run_chain(DType dtype, const ChainStep* steps, std::size_t count, const ChainRows& rows) {
  HWY_DYNAMIC_DISPATCH(RunChain)(dtype, steps, count, rows);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
