#include "weft/models/data/corruption/patch_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/rng.h"

namespace weft {
namespace {

/// Returns the number of masked units in a grid of `units` units.
std::int64_t hidden_units(const PatchMasking& masking, std::int64_t units) {
  // In double precision, 0.07 * 100 is slightly more than 7. The tolerance prevents rounding up to
  // 8.
  return static_cast<std::int64_t>(
      std::ceil(masking.mask_ratio * static_cast<double>(units) - 1e-9));
}

constexpr std::array<std::string_view, 2> kMaskedImageObjectives = {"simmim", "mae"};

}  // namespace

ChoiceNames choice_names(MaskedImageObjective) { return {"objective", kMaskedImageObjectives}; }

void PatchMasking::check() const {
  if (!(mask_ratio > 0 && mask_ratio < 1))
    throw ArgumentError(fmt::format("mask_ratio must be in (0, 1), not {}", mask_ratio));
  if (mask_unit < 1)
    throw ArgumentError(fmt::format("mask_unit must be at least 1, not {}", mask_unit));
}

const FieldList<PatchMasking>& PatchMasking::fields() {
  static const auto list =
      FieldList<PatchMasking>("the image masking")
          .added("objective", &PatchMasking::objective,
                 "how masked patches are reconstructed: as in SimMIM or as in MAE")
          .add("mask_ratio", &PatchMasking::mask_ratio, "fraction of the patches that are masked")
          .add("mask_unit", &PatchMasking::mask_unit,
               "side length (in patches) of the squares that are masked as a unit");
  return list;
}

std::int64_t hidden_patches(const PatchMasking& masking, std::int64_t rows, std::int64_t columns) {
  masking.check();
  const std::int64_t unit = masking.mask_unit;
  if (rows % unit != 0 || columns % unit != 0) {
    throw ArgumentError(
        fmt::format("mask_unit must divide the {} rows and {} columns of patches, not {}", rows,
                    columns, unit));
  }
  const std::int64_t units = rows / unit * (columns / unit), hidden = hidden_units(masking, units);
  if (hidden == units) {
    throw ArgumentError(
        fmt::format("mask_ratio {} masks all {} units of {} x {} patches (mask_unit {}): at least "
                    "one unit must stay visible",
                    masking.mask_ratio, units, unit, unit, unit));
  }
  return hidden * unit * unit;
}

std::vector<std::int32_t> patch_mask(const PatchMasking& masking, std::int64_t rows,
                                     std::int64_t columns, std::uint64_t seed, std::int64_t step,
                                     std::int64_t row) {
  const std::int64_t unit = masking.mask_unit;
  const std::int64_t hidden = hidden_patches(masking, rows, columns) / (unit * unit);
  const std::int64_t across = columns / unit;
  Rng rng(stable_hash("patch_mask", seed), static_cast<std::uint32_t>(row),
          static_cast<std::uint32_t>(step));
  std::vector<char> units(static_cast<std::size_t>(rows / unit * across), 0);
  std::fill_n(units.begin(), hidden, char{1});
  rng.shuffle(units);
  std::vector<std::int32_t> mask;
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x)
      mask.push_back(units[static_cast<std::size_t>(y / unit * across + x / unit)]);
  }
  return mask;
}

}  // namespace weft
