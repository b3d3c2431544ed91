// Initial values of variables.
#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/engine/variable_store.h"

namespace weft {
namespace {

// Rounds once to the element type.
template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(x);
  } else if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(x);
  } else {
    return static_cast<T>(x);
  }
}

// Elements 4*block .. 4*block+3 of a standard normal sample; `attempt` is the number of times that
// rejected elements have been drawn again.
std::array<double, 4> normals(std::uint64_t key, std::uint32_t attempt, std::uint64_t block) {
  const PhiloxBlock w = RandomStream{key, attempt, 0}.block(block);
  const auto a = normal_pair(w[0], w[1]);
  const auto b = normal_pair(w[2], w[3]);
  return {a[0], a[1], b[0], b[1]};
}

// Elements 4*block .. 4*block+3, before rounding to the dtype.
std::array<double, 4> draw(const Initializer& init, std::uint64_t key, std::uint64_t block) {
  std::array<double, 4> out{};
  if (init.kind == Initializer::Kind::uniform) {
    const RandomStream random{key, 0, 0};
    const PhiloxBlock lo = random.block(2 * block), hi = random.block(2 * block + 1);
    const std::array<double, 4> u = {uniform_double(lo[0], lo[1]), uniform_double(lo[2], lo[3]),
                                     uniform_double(hi[0], hi[1]), uniform_double(hi[2], hi[3])};
    for (std::size_t i = 0; i < 4; ++i) out[i] = init.a + (init.b - init.a) * u[i];
    return out;
  }
  std::array<double, 4> z = normals(key, 0, block);
  if (init.kind == Initializer::Kind::truncated_normal) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::uint32_t attempt = 1; std::abs(z[i]) > 2; ++attempt) {
        z[i] = normals(key, attempt, block)[i];
      }
    }
  }
  for (std::size_t i = 0; i < 4; ++i) out[i] = init.a + init.b * z[i];
  return out;
}

void check(const VariableInfo& info) {
  const Initializer& init = info.initializer;
  const bool random =
      init.kind != Initializer::Kind::constant && init.kind != Initializer::Kind::key;
  if (random && !is_floating(info.type.dtype)) {
    throw ArgumentError(
        fmt::format("variable '{}' is {}: only floating-point variables can be initialised from a "
                    "random distribution",
                    info.name, info.type.str()));
  }
  if (!std::isfinite(init.b) || (init.kind != Initializer::Kind::uniform && init.b < 0) ||
      (random && !std::isfinite(init.a))) {
    throw ArgumentError(
        fmt::format("variable '{}': the initialiser's parameters, {} and {}, must be finite, and a "
                    "standard deviation must not be negative",
                    info.name, init.a, init.b));
  }
}

}  // namespace

void fill_initial_value(const VariableInfo& info, std::uint64_t seed, Workers& workers,
                        Tensor& value) {
  check(info);
  const Initializer& init = info.initializer;
  const std::uint64_t key = stable_hash(info.name, seed);
  if (init.kind == Initializer::Kind::key) {
    if (value.dtype() != DType::i64 || value.sizes() != Sizes{2}) {
      throw ArgumentError(
          fmt::format("key '{}' is {}; a random key is i64[2]", info.name, value.type_str()));
    }
    auto* out = value.mutable_data<std::int64_t>();
    out[0] = static_cast<std::int64_t>(key);
    out[1] = 0;
    return;
  }
  if (init.kind == Initializer::Kind::constant) {
    value.fill(init.a);
    return;
  }
  const std::int64_t blocks = (value.numel() + 3) / 4;
  const std::int64_t chunks = chunk_count(blocks, 4096);
  visit_dtype(info.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = value.mutable_data<T>();
    workers.for_chunks(chunks, [&](std::int64_t chunk, int) {
      const ChunkRange range = chunk_range(blocks, chunks, chunk);
      for (std::int64_t b = range.begin; b < range.end; ++b) {
        const auto x = draw(init, key, static_cast<std::uint64_t>(b));
        const std::int64_t first = 4 * b, last = std::min(first + 4, value.numel());
        for (std::int64_t i = first; i < last; ++i) {
          out[i] = from_double<T>(x[static_cast<std::size_t>(i - first)]);
        }
      }
    });
  });
}

}  // namespace weft
