#include "weft/ops/kernels/indexing/sort.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <type_traits>

namespace weft::kernels {
namespace {

template <class T>
struct Entry {
  T value;
  std::int64_t index;
};

template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return a < b;
}

template <class T>
void sort_typed(const T* x, std::int64_t stride, std::int64_t length, bool descending,
                std::int64_t keep, T* values, std::int64_t* indices, std::byte* scratch) {
  auto* entries = reinterpret_cast<Entry<T>*>(scratch);
  for (std::int64_t i = 0; i < length; ++i) ::new (&entries[i]) Entry<T>{x[i * stride], i};
  // Ties are resolved by position, so the order is total and any sorting algorithm is stable.
  const auto before = [descending](const Entry<T>& a, const Entry<T>& b) {
    const T &first = descending ? b.value : a.value, &second = descending ? a.value : b.value;
    if (less(first, second)) return true;
    if (less(second, first)) return false;
    return a.index < b.index;
  };
  if (keep < length) {
    std::partial_sort(entries, entries + keep, entries + length, before);
  } else {
    std::sort(entries, entries + length, before);
  }
  for (std::int64_t i = 0; values != nullptr && i < keep; ++i)
    values[i * stride] = entries[i].value;
  for (std::int64_t i = 0; indices != nullptr && i < keep; ++i) {
    indices[i * stride] = entries[i].index;
  }
}

}  // namespace

std::size_t sort_scratch(DType dtype, std::int64_t length) {
  const std::size_t entry = dtype_size(dtype) == 8 ? sizeof(Entry<double>) : sizeof(Entry<float>);
  return static_cast<std::size_t>(length) * entry;
}

void sort_line(DType dtype, const void* x, std::int64_t stride, std::int64_t length,
               bool descending, std::int64_t keep, void* values, std::int64_t* indices,
               std::byte* scratch) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      sort_typed(static_cast<const T*>(x), stride, length, descending, keep,
                 static_cast<T*>(values), indices, scratch);
    }
  });
}

}  // namespace weft::kernels
