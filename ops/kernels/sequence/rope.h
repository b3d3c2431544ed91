// Rotary position embedding (Su et al. 2021) of rows of features in float and double.
#pragma once

#include <cstdint>

namespace weft {

/// Rotates `rows` rows of `width` features. Row r uses row r of the tables `cosines` and `sines`
/// [rows, pairs]. Pair j consists of features j and j + pairs or, if `adjacent`, of features 2j and
/// 2j + 1:
///   (a, b) -> (a cos - b sin, b cos + a sin);
/// Features starting with 2 * pairs are copied. y may be equal to x.
template <class T>
struct RopeRows {
  const T* x = nullptr;
  T* y = nullptr;
  const T *cosines = nullptr, *sines = nullptr;
  std::int64_t rows = 0, width = 0, pairs = 0;
  bool adjacent = false;
};
void rope_rows(const RopeRows<float>& args);
void rope_rows(const RopeRows<double>& args);

}  // namespace weft
