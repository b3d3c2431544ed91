// Selects the hidden patches of an image for masked image modelling (Xie et al. 2022, "SimMIM").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// The fraction of an image that is hidden, and the size of the hidden units.
struct PatchMasking {
  double mask_ratio = 0.6;  // fraction of the patches
  /// Patches are hidden in squares of mask_unit x mask_unit.
  std::int64_t mask_unit = 1;

  /// Throws ArgumentError with the field, its value and the valid range.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<PatchMasking>& fields();
  std::string to_json() const;
  /// Throws FormatError for a field that is missing, unknown or of the wrong type, ArgumentError as
  /// check().
  static PatchMasking from_json(std::string_view json);
  friend bool operator==(const PatchMasking&, const PatchMasking&) = default;
};

/// Returns the number of hidden patches of an image of rows x columns patches: those of ceil(units
/// * mask_ratio) units. Throws ArgumentError if mask_unit does not divide both rows and columns,
/// and if no patch would stay visible.
std::int64_t hidden_patches(const PatchMasking& masking, std::int64_t rows, std::int64_t columns);

/// Returns a mask of the patches [rows, columns], row-major: 1 for hidden and 0 for visible
/// patches. It is a function of the masking and (seed, step, row), where `row` is the position of
/// the image in its batch. Exactly hidden_patches() patches are hidden, and all choices of units
/// are equally likely. Throws as hidden_patches().
std::vector<std::int32_t> patch_mask(const PatchMasking& masking, std::int64_t rows,
                                     std::int64_t columns, std::uint64_t seed, std::int64_t step,
                                     std::int64_t row);

}  // namespace weft
