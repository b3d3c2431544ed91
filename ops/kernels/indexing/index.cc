#include "weft/ops/kernels/indexing/index.h"

#include <cstring>
#include <type_traits>

namespace weft::kernels {
namespace {

// Calls fn with a typed pointer to the indices.
template <class Fn>
void with_indices(Indices index, Fn&& fn) {
  if (index.dtype == DType::i32) {
    fn(static_cast<const std::int32_t*>(index.data));
  } else {
    fn(static_cast<const std::int64_t*>(index.data));
  }
}

// Returns a combined with b. Integer sums wrap around without undefined behaviour.
template <Combine kCombine, class T>
T combined(T a, T b) {
  if constexpr (kCombine == Combine::add) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
  } else {
    // If a is NaN, it is kept because all comparisons are false. Two selections, instead of one
    // with a disjunction, compile to code without branches that depend on the elements.
    const T extreme = kCombine == Combine::max ? (b > a ? b : a) : (b < a ? b : a);
    return b != b ? b : extreme;
  }
}

// Calls fn(combine as a constant, TypeTag<T>) if the dtype is f32, f64 or an integer dtype.
template <class Fn>
void with_number(Combine combine, DType dtype, Fn&& fn) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      switch (combine) {
        case Combine::add: return fn(std::integral_constant<Combine, Combine::add>(), tag);
        case Combine::max: return fn(std::integral_constant<Combine, Combine::max>(), tag);
        case Combine::min: return fn(std::integral_constant<Combine, Combine::min>(), tag);
      }
    }
  });
}

template <std::size_t kSize, class I>
void take_fixed(const std::byte* x, const I* index, std::int64_t begin, std::int64_t end,
                std::byte* out) {
  for (std::int64_t j = begin; j < end; ++j) {
    std::memcpy(out + static_cast<std::size_t>(j) * kSize,
                x + static_cast<std::size_t>(index[j]) * kSize, kSize);
  }
}

template <std::size_t kSize, class I>
void take_along_fixed(const std::byte* x, const I* index, std::int64_t count, std::int64_t width,
                      std::int64_t c_begin, std::int64_t c_end, std::byte* out) {
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t c = c_begin; c < c_end; ++c) {
      const auto from = static_cast<std::size_t>(index[j * width + c] * width + c);
      std::memcpy(out + static_cast<std::size_t>(j * width + c) * kSize, x + from * kSize, kSize);
    }
  }
}

}  // namespace

void take_rows(const std::byte* x, Indices index, std::int64_t begin, std::int64_t end,
               std::size_t row_bytes, std::byte* out) {
  with_indices(index, [&](const auto* i) {
    switch (row_bytes) {
      case 1: return take_fixed<1>(x, i, begin, end, out);
      case 2: return take_fixed<2>(x, i, begin, end, out);
      case 4: return take_fixed<4>(x, i, begin, end, out);
      case 8: return take_fixed<8>(x, i, begin, end, out);
      default:
        for (std::int64_t j = begin; j < end; ++j) {
          std::memcpy(out + static_cast<std::size_t>(j) * row_bytes,
                      x + static_cast<std::size_t>(i[j]) * row_bytes, row_bytes);
        }
    }
  });
}

void combine_rows(Combine combine, DType dtype, const void* src, Indices index, std::int64_t count,
                  std::int64_t width, const RowRange& range, void* out) {
  with_number(combine, dtype, [&](auto how, auto tag) {
    using T = typename decltype(tag)::type;
    const T* rows = static_cast<const T*>(src);
    T* to = static_cast<T*>(out);
    with_indices(index, [&](const auto* i) {
      const auto owns = [&](std::int64_t row) { return row >= range.d_begin && row < range.d_end; };
      if (width == 1 && range.c_begin < range.c_end) {
        // A loop over the columns would take longer than the update.
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t row = i[j];
          if (owns(row)) to[row] = combined<how()>(to[row], rows[j]);
        }
        return;
      }
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t row = i[j];
        if (!owns(row)) continue;
        const T* from = rows + j * width;
        T* at = to + row * width;
        for (std::int64_t c = range.c_begin; c < range.c_end; ++c) {
          at[c] = combined<how()>(at[c], from[c]);
        }
      }
    });
  });
}

void take_along(std::size_t element_size, const void* x, Indices index, std::int64_t index_offset,
                std::int64_t count, std::int64_t width, std::int64_t c_begin, std::int64_t c_end,
                void* out) {
  const auto* from = static_cast<const std::byte*>(x);
  auto* to = static_cast<std::byte*>(out);
  with_indices(index, [&](const auto* base) {
    const auto* i = base + index_offset;
    switch (element_size) {
      case 1: return take_along_fixed<1>(from, i, count, width, c_begin, c_end, to);
      case 2: return take_along_fixed<2>(from, i, count, width, c_begin, c_end, to);
      case 4: return take_along_fixed<4>(from, i, count, width, c_begin, c_end, to);
      default: return take_along_fixed<8>(from, i, count, width, c_begin, c_end, to);
    }
  });
}

void combine_along(Combine combine, DType dtype, const void* src, Indices index,
                   std::int64_t index_offset, std::int64_t count, std::int64_t width,
                   std::int64_t c_begin, std::int64_t c_end, void* out) {
  with_number(combine, dtype, [&](auto how, auto tag) {
    using T = typename decltype(tag)::type;
    with_indices(index, [&](const auto* base) {
      const auto* i = base + index_offset;
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t c = c_begin; c < c_end; ++c) {
          T& to = static_cast<T*>(out)[static_cast<std::int64_t>(i[j * width + c]) * width + c];
          to = combined<how()>(to, static_cast<const T*>(src)[j * width + c]);
        }
      }
    });
  });
}

}  // namespace weft::kernels
