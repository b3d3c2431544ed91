// Rotary position embedding of rows of features (Su et al. 2021), in float and double.
#pragma once

#include <cstdint>

namespace weft {

/// Rotates `rows` rows of `width` features. Row r uses row r of the tables cosines and sines [rows,
/// pairs]. Pair j is (j, j + pairs), or (2j, 2j + 1) if `adjacent`:
///   (a, b) -> (a cos - b sin, b cos + a sin);
/// features from 2 * pairs on are copied. y may be x.
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
