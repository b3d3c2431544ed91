// Positions of the patches of an image: resized tables, relative biases, rotations.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/ir/scope.h"
#include "weft/models/families/vit_config.h"

namespace WEFT_API weft {

/// A grid of patches.
struct PatchGrid {
  std::int64_t rows = 0, columns = 0;

  friend bool operator==(const PatchGrid&, const PatchGrid&) = default;
};

/// Filters for resizing a table of positions along one axis, with half-pixel centres.
enum class GridFilter : std::uint8_t {
  bilinear,   // PyTorch's bilinear
  bicubic,    // PyTorch's bicubic: a = -0.75 (Keys 1981), the border is replicated
  antialias,  // PyTorch's bicubic with antialias: a = -0.5, a wider kernel when shrinking
};

/// Returns the weights [to, from], in row-major order, with which `from` samples are combined to
/// `to` samples. Every row sums to 1. If both numbers are equal, the weights are the identity.
std::vector<double> resize_weights(std::int64_t from, std::int64_t to, GridFilter filter);

/// Resizes a table [1, extra + rows * columns, width] of positions to another grid. The first
/// `extra` rows are copied. Both functions compute the same. Throws ShapeError if the sizes of the
/// table are wrong.
Tensor resize_position_table(const Tensor& table, std::int64_t extra, PatchGrid from, PatchGrid to,
                             GridFilter filter);
Value resize_position_table(Value table, std::int64_t extra, PatchGrid from, PatchGrid to,
                            GridFilter filter);

/// Resizes learned positions to another image size. Converts the table [1, position_count, width]
/// for `from` to a table for `to` by bicubic interpolation. The positions of the tokens before the
/// patches are copied. Throws ShapeError if the table does not match `from`, or if the configs
/// differ in width or in the tokens before the patches.
Tensor interpolate_positions(const Tensor& table, const VitConfig& from, const VitConfig& to);

/// Returns the position table of a masked autoencoder (He et al. 2022), f32 [1, extra + rows *
/// columns, width]: sines and cosines of the column, then of the row, with the frequencies of
/// sinusoidal_positions(); 0 for the first `extra` rows. The width must be a multiple of 4.
Tensor sine_cosine_table(std::int64_t extra, PatchGrid grid, std::int64_t width);

/// Number of rows of a table of relative biases (Bao et al. 2022, "BEiT"): one for each
/// displacement between two patches, and one each for class token to patch, patch to class token,
/// and class token to itself.
std::int64_t relative_bias_rows(PatchGrid grid);
/// Resizes a table [relative_bias_rows(from), heads] to another grid by bilinear interpolation.
/// Both functions compute the same.
///
/// As in Hugging Face transformers, the table is read as [2 * columns - 1, 2 * rows - 1]
/// displacements before it is resized to [2 * rows - 1, 2 * columns - 1]. For images that are not
/// square, this mixes displacements, also if both grids are equal.
Tensor resize_relative_bias(const Tensor& table, PatchGrid from, PatchGrid to);
Value resize_relative_bias(Value table, PatchGrid from, PatchGrid to);
/// Returns the rows of a table for `grid` that belong to the pairs of tokens, i64 [tokens, tokens]:
/// for a class token followed by the patches.
Tensor relative_bias_index(PatchGrid grid);
/// Returns the bias of the scores, [1, heads, tokens, tokens]. The table belongs to the grid
/// `from`; `index` is relative_bias_index(grid), which all layers share.
Value relative_bias(Value table, PatchGrid from, PatchGrid grid, Value index);

/// Cosines and sines, f32 [tokens, head size], by which queries and keys are rotated. Undefined for
/// models without rotary positions.
struct TokenRotation {
  Value cos = {}, sin = {};

  /// Rotates the pairs (j, j + head size / 2) of x [batch, heads, tokens, head size].
  Value operator()(Value x) const;
};
/// Returns the rotation of VitPositions::rotary_2d. The angle of feature j < head size / 2 is
/// 2 pi base^(-4k / head size) times a coordinate: that of the row for the first half of these
/// features, that of the column for the others, with k counted within each half. The coordinates
/// of the centre of a patch are in [-1, 1]. The `extra_tokens()` before the patches are not
/// rotated. In training mode, coordinates are shifted and scaled at random, with the key
/// "coordinates".
TokenRotation patch_rotation(const Scope& scope, const VitConfig& config, PatchGrid grid);

}  // namespace weft
