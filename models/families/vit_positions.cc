#include "weft/models/families/vit_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

/// Returns the cubic convolution kernel with parameter `a` (Keys 1981).
double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// The samples that contribute to one result, and their weights.
struct Taps {
  std::vector<std::pair<std::int64_t, double>> weights;

  void add(std::int64_t index, double weight, std::int64_t count) {
    weights.emplace_back(std::clamp<std::int64_t>(index, 0, count - 1), weight);
  }
};

/// Returns the taps of sample `i` of `to` samples.
Taps taps_of(std::int64_t i, std::int64_t from, std::int64_t to, GridFilter filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double centre = (static_cast<double>(i) + 0.5) * scale;
  Taps taps;
  if (filter == GridFilter::antialias) {
    const double widening = std::max(scale, 1.0), support = 2 * widening;
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5), 0);
    const auto end =
        std::min<std::int64_t>(static_cast<std::int64_t>(centre + support + 0.5), from);
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const double weight = cubic((static_cast<double>(j) - centre + 0.5) / widening, -0.5);
      taps.add(j, weight, from);
      sum += weight;
    }
    for (auto& [index, weight] : taps.weights) weight /= sum;
    return taps;
  }
  const double place = filter == GridFilter::bilinear ? std::max(centre - 0.5, 0.0) : centre - 0.5;
  const double low = std::floor(place), t = place - low;
  const auto first = static_cast<std::int64_t>(low);
  if (filter == GridFilter::bilinear) {
    taps.add(first, 1 - t, from);
    taps.add(first + 1, t, from);
  } else {
    for (std::int64_t k = -1; k <= 2; ++k)
      taps.add(first + k, cubic(static_cast<double>(k) - t, -0.75), from);
  }
  return taps;
}

Tensor matrix_of(std::int64_t from, std::int64_t to, GridFilter filter) {
  const std::vector<double> weights = resize_weights(from, to, filter);
  return Tensor::of({to, from}, std::vector<float>(weights.begin(), weights.end()));
}

/// Resizes a grid [from.rows, from.columns, width] (row-major) and writes the result to `out`.
void resize_grid(const float* in, PatchGrid from, PatchGrid to, std::int64_t width,
                 GridFilter filter, float* out) {
  std::vector<double> narrow(static_cast<std::size_t>(from.rows * to.columns * width));
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return narrow.begin() + (row * to.columns + column) * width;
  };
  for (std::int64_t column = 0; column < to.columns; ++column) {
    const Taps taps = taps_of(column, from.columns, to.columns, filter);
    for (std::int64_t row = 0; row < from.rows; ++row) {
      for (const auto& [index, weight] : taps.weights) {
        const float* source = in + (row * from.columns + index) * width;
        for (std::int64_t f = 0; f < width; ++f) at(row, column)[f] += weight * source[f];
      }
    }
  }
  std::vector<double> sums(static_cast<std::size_t>(width));
  for (std::int64_t row = 0; row < to.rows; ++row) {
    const Taps taps = taps_of(row, from.rows, to.rows, filter);
    for (std::int64_t column = 0; column < to.columns; ++column) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (const auto& [index, weight] : taps.weights) {
        const auto source = at(index, column);
        for (std::int64_t f = 0; f < width; ++f)
          sums[static_cast<std::size_t>(f)] += weight * source[f];
      }
      out = std::transform(sums.begin(), sums.end(), out,
                           [](double sum) { return static_cast<float>(sum); });
    }
  }
}

/// Resizes a grid [from.rows, from.columns, width] to [to.rows, to.columns, width].
Value resize_grid(Value grid, PatchGrid from, PatchGrid to, GridFilter filter) {
  Graph& graph = grid.graph();
  const Dim width = grid.size(2);
  if (from.rows != to.rows) {
    const Value flat = reshape(grid, {from.rows, from.columns * width});
    grid = reshape(matmul(graph.constant(matrix_of(from.rows, to.rows, filter)), flat),
                   {to.rows, from.columns, width});
  }
  if (from.columns == to.columns) return grid;
  const Value flat = reshape(permute(grid, {1, 0, 2}), {from.columns, to.rows * width});
  const Value wide = matmul(graph.constant(matrix_of(from.columns, to.columns, filter)), flat);
  return permute(reshape(wide, {to.columns, to.rows, width}), {1, 0, 2});
}

void check_table(const Sizes& sizes, const Sizes& wanted, const char* what) {
  if (sizes != wanted)
    throw ShapeError(fmt::format("{} must be [{}], not [{}]", what, fmt::join(wanted, ", "),
                                 fmt::join(sizes, ", ")));
}

/// Number of displacements between two patches along both axes, in the order in which transformers
/// reads a table that is resized.
PatchGrid stored_displacements(PatchGrid grid) { return {2 * grid.columns - 1, 2 * grid.rows - 1}; }
PatchGrid displacements(PatchGrid grid) { return {2 * grid.rows - 1, 2 * grid.columns - 1}; }

}  // namespace

std::vector<double> resize_weights(std::int64_t from, std::int64_t to, GridFilter filter) {
  std::vector<double> weights(static_cast<std::size_t>(from * to));
  for (std::int64_t i = 0; i < to; ++i) {
    for (const auto& [index, weight] : taps_of(i, from, to, filter).weights)
      weights[static_cast<std::size_t>(i * from + index)] += weight;
  }
  return weights;
}

Tensor resize_position_table(const Tensor& table, std::int64_t extra, PatchGrid from, PatchGrid to,
                             GridFilter filter) {
  const std::int64_t width = table.rank() == 3 ? table.size(2) : 0;
  check_table(table.sizes(), {1, extra + from.rows * from.columns, width}, "the position table");
  Tensor result = Tensor::empty(DType::f32, {1, extra + to.rows * to.columns, width});
  std::copy_n(table.data<float>(), extra * width, result.mutable_data<float>());
  resize_grid(table.data<float>() + extra * width, from, to, width, filter,
              result.mutable_data<float>() + extra * width);
  return result;
}

Value resize_position_table(Value table, std::int64_t extra, PatchGrid from, PatchGrid to,
                            GridFilter filter) {
  if (from == to) return table;
  const Dim width = table.size(2);
  const Value patches =
      reshape(slice(table, 1, {.begin = Dim(extra)}), {from.rows, from.columns, width});
  const Value resized =
      reshape(resize_grid(patches, from, to, filter), {1, to.rows * to.columns, width});
  if (extra == 0) return resized;
  return concat({slice(table, 1, {.end = Dim(extra)}), resized}, 1);
}

Tensor interpolate_positions(const Tensor& table, const VitConfig& from, const VitConfig& to) {
  const std::int64_t extra = from.position_extra();
  if (table.dtype() != DType::f32 || table.sizes() != Sizes{1, from.position_count(), from.width} ||
      to.width != from.width || to.position_extra() != extra) {
    throw ShapeError(fmt::format(
        "the position table must be f32[1, {}, {}] with {} tokens before the patches and "
        "the same width as the new table, not {}",
        from.position_count(), from.width, to.position_extra(), table.type_str()));
  }
  return resize_position_table(table, extra, {from.rows(), from.columns()},
                               {to.rows(), to.columns()}, GridFilter::bicubic);
}

Tensor sine_cosine_table(std::int64_t extra, PatchGrid grid, std::int64_t width) {
  Tensor table = Tensor::zeros(DType::f32, {1, extra + grid.rows * grid.columns, width});
  float* out = table.mutable_data<float>() + extra * width;
  const std::int64_t quarter = width / 4;
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t column = 0; column < grid.columns; ++column) {
      for (const std::int64_t place : {column, row}) {
        for (std::int64_t j = 0; j < quarter; ++j) {
          const double angle =
              static_cast<double>(place) *
              std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(quarter));
          out[j] = static_cast<float>(std::sin(angle));
          out[quarter + j] = static_cast<float>(std::cos(angle));
        }
        out += 2 * quarter;
      }
    }
  }
  return table;
}

std::int64_t relative_bias_rows(PatchGrid grid) {
  return (2 * grid.rows - 1) * (2 * grid.columns - 1) + 3;
}

Tensor resize_relative_bias(const Tensor& table, PatchGrid from, PatchGrid to) {
  const std::int64_t heads = table.rank() == 2 ? table.size(1) : 0, rows = relative_bias_rows(to);
  check_table(table.sizes(), {relative_bias_rows(from), heads}, "the table of relative biases");
  Tensor result = Tensor::empty(DType::f32, {rows, heads});
  resize_grid(table.data<float>(), stored_displacements(from), displacements(to), heads,
              GridFilter::bilinear, result.mutable_data<float>());
  std::copy_n(table.data<float>() + (relative_bias_rows(from) - 3) * heads, 3 * heads,
              result.mutable_data<float>() + (rows - 3) * heads);
  return result;
}

Value resize_relative_bias(Value table, PatchGrid from, PatchGrid to) {
  const PatchGrid stored = stored_displacements(from), wanted = displacements(to);
  if (stored == wanted) return table;
  const Dim heads = table.size(1);
  const std::int64_t last = relative_bias_rows(from) - 3;
  const Value grid =
      reshape(slice(table, 0, {.end = Dim(last)}), {stored.rows, stored.columns, heads});
  return concat({reshape(resize_grid(grid, stored, wanted, GridFilter::bilinear),
                         {wanted.rows * wanted.columns, heads}),
                 slice(table, 0, {.begin = Dim(last)})},
                0);
}

Tensor relative_bias_index(PatchGrid grid) {
  const std::int64_t tokens = 1 + grid.rows * grid.columns, rows = relative_bias_rows(grid);
  Tensor index = Tensor::empty(DType::i64, {tokens, tokens});
  auto* out = index.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t j = 0; j < tokens; ++j) {
      if (i == 0 || j == 0) {
        *out++ = i == 0 && j == 0 ? rows - 1 : i == 0 ? rows - 3 : rows - 2;
        continue;
      }
      const std::int64_t p = i - 1, q = j - 1;
      const std::int64_t down = p / grid.columns - q / grid.columns + grid.rows - 1;
      const std::int64_t right = p % grid.columns - q % grid.columns + grid.columns - 1;
      *out++ = down * (2 * grid.columns - 1) + right;
    }
  }
  return index;
}

Value relative_bias(Value table, PatchGrid from, PatchGrid grid, Value index) {
  const Value biases = take(resize_relative_bias(table, from, grid), index, 0);
  return unsqueeze(permute(biases, {2, 0, 1}), 0);
}

Value TokenRotation::operator()(Value x) const {
  if (!cos.defined()) return x;
  const Dim half = Dim(x.size(3).constant() / 2);
  const Value turned = concat({-slice(x, 3, {.begin = half}), slice(x, 3, {.end = half})}, 3);
  return x * cos + turned * sin;
}

TokenRotation patch_rotation(const Scope& scope, const VitConfig& config, PatchGrid grid) {
  Graph& graph = scope.graph();
  const std::int64_t patches = grid.rows * grid.columns, size = config.width / config.heads;
  const std::int64_t extra = config.extra_tokens(), quarter = size / 4;
  Tensor centres = Tensor::empty(DType::f32, {patches, 2, 1});
  for (std::int64_t p = 0; p < patches; ++p) {
    const auto centre = [](std::int64_t i, std::int64_t count) {
      return static_cast<float>(2 * (static_cast<double>(i) + 0.5) / static_cast<double>(count) -
                                1);
    };
    centres.mutable_data<float>()[2 * p] = centre(p / grid.columns, grid.rows);
    centres.mutable_data<float>()[2 * p + 1] = centre(p % grid.columns, grid.columns);
  }
  Value places = graph.constant(centres);
  const bool random =
      config.position_shift > 0 || config.position_jitter > 1 || config.position_rescale > 1;
  if (random && scope.is_training("rotary_2d positions")) {
    const auto between = [&](double most, std::int64_t count) {
      return uniform(graph.key("coordinates"), {1, count, 1}, -most, most);
    };
    if (config.position_shift > 0) places = places + between(config.position_shift, 2);
    if (config.position_jitter > 1)
      places = places * exp(between(std::log(config.position_jitter), 2));
    if (config.position_rescale > 1)
      places = places * exp(between(std::log(config.position_rescale), 1));
  }
  Tensor frequencies = Tensor::empty(DType::f32, {1, 1, quarter});
  for (std::int64_t k = 0; k < quarter; ++k) {
    frequencies.mutable_data<float>()[k] = static_cast<float>(
        2 * std::numbers::pi *
        std::pow(config.rotary_base, -4 * static_cast<double>(k) / static_cast<double>(size)));
  }
  const Value half = reshape(places * graph.constant(frequencies), {patches, size / 2});
  const Value angles = pad(concat({half, half}, 1), {{extra, 0}, {0, 0}});
  return {cos(angles), sin(angles)};
}

}  // namespace weft
