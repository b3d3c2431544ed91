#include "weft/ops/kernels/elementwise/random.h"

#include <math.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/random.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before the headers below.
#include <hwy/highway.h>

#ifndef WEFT_OPS_KERNELS_RANDOM_SHARED
#define WEFT_OPS_KERNELS_RANDOM_SHARED
namespace weft::kernels {
namespace {

// The number of words that are generated at a time; they stay in the L1 cache.
constexpr std::int64_t kWords = 1024;

// The smallest integer t with (word < t) == (word < probability * 2^32) for every word.
struct Threshold {
  std::uint32_t limit;
  bool all;  // true if every word is below the threshold
};

}  // namespace
}  // namespace weft::kernels
#endif  // WEFT_OPS_KERNELS_RANDOM_SHARED

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void RandomWords(const RandomStream& stream, std::uint64_t first_block, std::int64_t blocks,
                 std::uint32_t* HWY_RESTRICT out) {
  std::int64_t b = 0;
#if HWY_TARGET != HWY_SCALAR
  // One word is stored in the lower half of each 64-bit lane. MulEven multiplies the lower halves
  // and returns all 64 bits, so the contents of the upper halves never matter.
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> d32;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto multiply = [&](auto a, auto m) HWY_ATTR {
    return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, m));
  };
  const auto m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  const auto low_half = hn::Set(d, 0xFFFFFFFFu);
  for (; b + lanes <= blocks; b += lanes) {
    const auto index = hn::Iota(d, first_block + static_cast<std::uint64_t>(b));
    auto c0 = index, c1 = hn::ShiftRight<32>(index);
    auto c2 = hn::Set(d, stream.stream), c3 = hn::Set(d, stream.step);
    std::uint32_t k0 = static_cast<std::uint32_t>(stream.seed);
    std::uint32_t k1 = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto p0 = multiply(c0, m0), p1 = multiply(c2, m1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const auto first = hn::Or(hn::And(c0, low_half), hn::ShiftLeft<32>(c1));
    const auto second = hn::Or(hn::And(c2, low_half), hn::ShiftLeft<32>(c3));
    hn::StoreInterleaved2(first, second, d, reinterpret_cast<std::uint64_t*>(out + 4 * b));
  }
#endif
  for (; b < blocks; ++b) {
    const PhiloxBlock block = stream.block(first_block + static_cast<std::uint64_t>(b));
    for (std::size_t i = 0; i < 4; ++i) out[4 * b + static_cast<std::int64_t>(i)] = block[i];
  }
}

// Calls row(words, offset, count) for the elements [begin, end) in pieces of at most kWords words.
template <class Row>
HWY_INLINE void ForWords(const RandomStream& stream, std::int64_t begin, std::int64_t end,
                         const Row& row) {
  HWY_ALIGN std::uint32_t words[kWords];
  for (std::int64_t i = begin; i < end; i += kWords) {
    const std::int64_t count = end - i < kWords ? end - i : kWords;
    RandomWords(stream, static_cast<std::uint64_t>(i / 4), (count + 3) / 4, words);
    row(words, i - begin, count);
  }
}

// The row functions below are plain loops that compilers vectorise for the target. Conversions of
// 24-bit integers are exact and every product is rounded once, so all targets return the same bits.

struct UniformRow {
  float* out;
  HWY_INLINE void operator()(const std::uint32_t* words, std::int64_t offset,
                             std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      out[offset + i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8)) * 0x1p-24f;
    }
  }
};

void UniformF32(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out) {
  ForWords(stream, begin, end, UniformRow{out});
}

// Uses two words per element. offset and count are in words.
struct UniformRow64 {
  double* out;
  HWY_INLINE void operator()(const std::uint32_t* words, std::int64_t offset,
                             std::int64_t count) const {
    for (std::int64_t i = 0; i + 1 < count; i += 2) {
      out[(offset + i) / 2] = uniform_double(words[i], words[i + 1]);
    }
  }
};

void UniformF64(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out) {
  ForWords(stream, 2 * begin, 2 * end, UniformRow64{out});
}

struct BernoulliRow {
  std::uint32_t limit;
  std::uint8_t* HWY_RESTRICT out;
  HWY_INLINE void operator()(const std::uint32_t* HWY_RESTRICT words, std::int64_t offset,
                             std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) out[offset + i] = words[i] < limit ? 1 : 0;
  }
};

void Bernoulli(const RandomStream& stream, std::uint32_t limit, std::int64_t begin,
               std::int64_t end, std::uint8_t* out) {
  ForWords(stream, begin, end, BernoulliRow{limit, out});
}

template <class T>
void DropoutRows(const RowKernel& self, const void* const* in, void* out, std::int64_t n,
                 std::int64_t position) {
  const T* x = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out);
  const auto* key = static_cast<const std::int64_t*>(in[1]);
  const RandomStream stream{static_cast<std::uint64_t>(key[0]),
                            static_cast<std::uint32_t>(self.integers[0]),
                            static_cast<std::uint32_t>(key[1])};
  const T scale = static_cast<T>(self.reals[0]);
  const std::uint32_t limit = static_cast<std::uint32_t>(self.integers[1]);
  // The rate is so close to 1 that no word reaches the threshold.
  if (self.integers[1] > 0xFFFFFFFF) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = T{0};
    return;
  }
  HWY_ALIGN std::uint32_t words[kWords + 4];
  const std::int64_t skip = position % 4;
  for (std::int64_t i = 0; i < n; i += kWords) {
    const std::int64_t count = n - i < kWords ? n - i : kWords;
    RandomWords(stream, static_cast<std::uint64_t>((position + i - skip) / 4),
                (skip + count + 3) / 4, words);
    const std::uint32_t* word = words + skip;
    for (std::int64_t k = 0; k < count; ++k) {
      const T scaled = x[i + k] * scale;
      to[i + k] = word[k] >= limit ? scaled : T{0};
    }
  }
}

RowKernel::Function DropoutRow(DType dtype) {
  if (dtype == DType::f32) return DropoutRows<float>;
  return dtype == DType::f64 ? DropoutRows<double> : nullptr;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(RandomWords);
HWY_EXPORT(UniformF32);
HWY_EXPORT(UniformF64);
HWY_EXPORT(Bernoulli);
HWY_EXPORT(DropoutRow);

namespace {

Threshold threshold(double probability) {
  const double t = ceil(probability * 0x1p32);
  if (t >= 0x1p32) return {0, true};
  return {t <= 0 ? 0 : static_cast<std::uint32_t>(t), false};
}

template <class T>
void normals(const RandomStream& stream, std::int64_t begin, std::int64_t end, T* out) {
  std::uint32_t words[kWords];
  for (std::int64_t i = begin; i < end; i += kWords) {
    const std::int64_t count = end - i < kWords ? end - i : kWords;
    random_words(stream, static_cast<std::uint64_t>(i / 4), (count + 3) / 4, words);
    for (std::int64_t q = 0; q < count; q += 2) {
      const auto pair = normal_pair(words[q], words[q + 1]);
      out[i - begin + q] = static_cast<T>(pair[0]);
      if (q + 1 < count) out[i - begin + q + 1] = static_cast<T>(pair[1]);
    }
  }
}

}  // namespace

void random_words(const RandomStream& stream, std::uint64_t first_block, std::int64_t blocks,
                  std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(RandomWords)(stream, first_block, blocks, out);
}

void uniform_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(UniformF32)(stream, begin, end, out);
}
void uniform_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out) {
  HWY_DYNAMIC_DISPATCH(UniformF64)(stream, begin, end, out);
}

void normal_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, float* out) {
  normals(stream, begin, end, out);
}
void normal_row(const RandomStream& stream, std::int64_t begin, std::int64_t end, double* out) {
  normals(stream, begin, end, out);
}

void bernoulli_row(const RandomStream& stream, double probability, std::int64_t begin,
                   std::int64_t end, std::uint8_t* out) {
  const Threshold t = threshold(probability);
  if (t.all) {
    for (std::int64_t i = 0; i < end - begin; ++i) out[i] = 1;
    return;
  }
  HWY_DYNAMIC_DISPATCH(Bernoulli)(stream, t.limit, begin, end, out);
}

RowKernel dropout_row(DType dtype, double rate, std::int64_t stream) {
  const Threshold t = threshold(rate);
  RowKernel kernel;
  kernel.function = HWY_DYNAMIC_DISPATCH(DropoutRow)(dtype);
  kernel.reals[0] = 1 / (1 - rate);
  kernel.integers = {stream, t.all ? std::int64_t{1} << 32 : std::int64_t{t.limit}};
  return kernel;
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
