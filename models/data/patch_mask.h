// Which patches of an image are hidden in masked-image modelling (Xie et al. 2022, "SimMIM").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// How much of an image is hidden, and in which pieces.
struct PatchMasking {
  double mask_ratio = 0.6;     // share of the patches
  std::int64_t mask_unit = 1;  // patches are hidden together, in squares of so many by so many

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<PatchMasking>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static PatchMasking from_json(std::string_view json);
  friend bool operator==(const PatchMasking&, const PatchMasking&) = default;
};

/// How many patches of every image of rows x columns patches are hidden: those of
/// ceil(units * mask_ratio) units. Throws ArgumentError where mask_unit divides rows and columns
/// not both, and where no patch would be left to see.
std::int64_t hidden_patches(const PatchMasking& masking, std::int64_t rows, std::int64_t columns);

/// 1 for the patches [rows, columns], row-major, that are hidden, 0 for the others: a function of
/// the masking and (seed, step, row), where `row` is the image's place in its batch. Exactly
/// hidden_patches() are, every choice of units being as likely. Throws as that.
std::vector<std::int32_t> patch_mask(const PatchMasking& masking, std::int64_t rows,
                                     std::int64_t columns, std::uint64_t seed, std::int64_t step,
                                     std::int64_t row);

}  // namespace weft
