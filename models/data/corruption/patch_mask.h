// Selects the masked patches of an image for masked image modelling (Xie et al. 2022, "SimMIM"; He
// et al. 2022, "MAE").
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// How masked patches are reconstructed.
enum class MaskedImageObjective : std::uint8_t {
  simmim,  // mask tokens in place of masked patches, one linear layer, absolute error (SimMIM)
  mae,     // the encoder sees the visible patches only; a decoder, squared error (MAE)
};
/// The names equal the enumerators.
ChoiceNames choice_names(MaskedImageObjective);

/// The objective, the fraction of an image that is masked, and the size of the masked units.
struct PatchMasking {
  MaskedImageObjective objective = MaskedImageObjective::simmim;
  double mask_ratio = 0.6;  // fraction of the patches
  /// Patches are masked in squares of mask_unit x mask_unit.
  std::int64_t mask_unit = 1;

  /// Throws ArgumentError with the field, its value and the valid range.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<PatchMasking>& fields();
  friend bool operator==(const PatchMasking&, const PatchMasking&) = default;
};

/// Returns the number of masked patches in an image of rows x columns patches, which are the
/// patches in ceil(units * mask_ratio) units. Throws ArgumentError if mask_unit does not divide
/// both rows and columns, or if no patch would stay visible.
std::int64_t hidden_patches(const PatchMasking& masking, std::int64_t rows, std::int64_t columns);

/// Returns a row-major mask of the patches [rows, columns] with 1 for masked and 0 for visible
/// patches. The result is a function of `masking` and (seed, step, row); `row` is the position of
/// the image in its batch. Exactly hidden_patches() patches are masked, and all choices of units
/// are equally likely. Throws ArgumentError under the same conditions as hidden_patches().
std::vector<std::int32_t> patch_mask(const PatchMasking& masking, std::int64_t rows,
                                     std::int64_t columns, std::uint64_t seed, std::int64_t step,
                                     std::int64_t row);

}  // namespace weft
