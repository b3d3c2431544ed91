#include "weft/models/families/swin.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

constexpr double kEps = 1e-5;         // of the norms outside of blocks
constexpr float kOtherRegion = -100;  // score of keys that are not neighbours of the query

SwinConfig checked(SwinConfig config) {
  config.check();
  return config;
}

/// The windows of a block.
struct Windows {
  PatchGrid grid;            // without padding
  std::int64_t side, shift;  // in patches

  Windows(PatchGrid grid, std::int64_t side, bool shifted)
      : grid(grid), side(std::min({side, grid.rows, grid.columns})) {
    shift = shifted && std::min(grid.rows, grid.columns) > side ? side / 2 : 0;
  }
  std::int64_t rows() const { return (grid.rows + side - 1) / side; }
  std::int64_t columns() const { return (grid.columns + side - 1) / side; }
  std::int64_t count() const { return rows() * columns(); }
  std::int64_t size() const { return side * side; }
};

/// Rows of the bias table for the pairs of patches in a window, i64 [size, size]. The table has the
/// displacements in windows of `most` x `most` patches.
Tensor bias_rows(std::int64_t side, std::int64_t most) {
  const std::int64_t size = side * side;
  Tensor rows = Tensor::empty(DType::i64, {size, size});
  auto* out = rows.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j)
      *out++ = (i / side - j / side + most - 1) * (2 * most - 1) + i % side - j % side + most - 1;
  }
  return rows;
}

/// Returns scores [windows, size, size] that separate the regions in shifted windows: after the
/// cyclic shift, windows at the end contain patches from both ends of the image.
Tensor region_scores(const Windows& w) {
  const std::int64_t height = w.rows() * w.side, width = w.columns() * w.side, size = w.size();
  const auto region = [&](std::int64_t place, std::int64_t length) {
    return place < length - w.side ? 0 : place < length - w.shift ? 1 : 2;
  };
  Tensor scores = Tensor::zeros(DType::f32, {w.count(), size, size});
  auto* out = scores.mutable_data<float>();
  for (std::int64_t window = 0; window < w.count(); ++window) {
    const auto region_of = [&](std::int64_t p) {
      return 3 * region(window / w.columns() * w.side + p / w.side, height) +
             region(window % w.columns() * w.side + p % w.side, width);
    };
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < size; ++j)
        *out++ = region_of(i) == region_of(j) ? 0 : kOtherRegion;
    }
  }
  return scores;
}

/// Computes attention within windows from normalised patches x [batch, patches, width]. `rows` is
/// bias_rows(); `regions` is region_scores() [windows, 1, size, size] for shifted windows.
Value window_attention(const VitLayer& block, Value x, const Windows& w, Value rows, Value regions,
                       AttentionOptions options) {
  const MultiHeadAttention& attention = block.attention;
  const Dim& batch = x.size(0);
  const std::int64_t heads = attention.heads, width = heads * attention.head_size;
  const std::int64_t height = w.rows() * w.side, across = w.columns() * w.side;
  x = reshape(x, {batch, w.grid.rows, w.grid.columns, width});
  x = pad(x, {{0, 0}, {0, height - w.grid.rows}, {0, across - w.grid.columns}, {0, 0}});
  if (w.shift > 0) x = roll(roll(x, -w.shift, 1), -w.shift, 2);
  x = permute(reshape(x, {batch, w.rows(), w.side, w.columns(), w.side, width}),
              {0, 1, 3, 2, 4, 5});
  x = reshape(x, {batch, w.count(), w.size(), width});
  // Windows and heads share an axis, so that one bias table serves the whole batch.
  const auto split = [&](Value y) {
    y = reshape(y, {batch, w.count(), w.size(), heads, attention.head_size});
    return reshape(permute(y, {0, 1, 3, 2, 4}),
                   {batch, w.count() * heads, w.size(), attention.head_size});
  };
  const Value table = permute(take(block.relative_bias, rows, 0), {2, 0, 1});
  Value bias = broadcast_to(unsqueeze(table, 0), {w.count(), heads, w.size(), w.size()});
  if (w.shift > 0) bias = bias + regions;
  options.bias = reshape(bias, {1, w.count() * heads, w.size(), w.size()});
  options.scale = attention.scale;
  Value y = weft::attention(split(attention.query(x)), split(attention.key(x)),
                            split(attention.value(x)), options);
  y = permute(reshape(y, {batch, w.count(), heads, w.size(), attention.head_size}),
              {0, 1, 3, 2, 4});
  y = attention.out(reshape(y, {batch, w.count(), w.size(), width}));
  y = permute(reshape(y, {batch, w.rows(), w.columns(), w.side, w.side, width}),
              {0, 1, 3, 2, 4, 5});
  y = reshape(y, {batch, height, across, width});
  if (w.shift > 0) y = roll(roll(y, w.shift, 1), w.shift, 2);
  y = slice(y, {{}, {.end = Dim(w.grid.rows)}, {.end = Dim(w.grid.columns)}, {}});
  return reshape(y, {batch, w.grid.rows * w.grid.columns, width});
}

/// Joins 2 x 2 patches: [batch, patches, width] -> [batch, merged patches, 4 * width]. An odd
/// number of rows or columns is padded with zeros.
Value join_patches(Value h, PatchGrid grid) {
  const Dim &batch = h.size(0), &width = h.size(2);
  h = reshape(h, {batch, grid.rows, grid.columns, width});
  h = pad(h, {{0, 0}, {0, grid.rows % 2}, {0, grid.columns % 2}, {0, 0}});
  std::vector<Value> parts;
  for (const auto& [row, column] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}})
    parts.push_back(
        slice(h, {{}, {.begin = Dim(row), .step = 2}, {.begin = Dim(column), .step = 2}, {}}));
  return reshape(concat(parts, 3),
                 {batch, (grid.rows + 1) / 2 * ((grid.columns + 1) / 2), width * 4});
}

}  // namespace

Swin::Swin(const Scope& scope, const SwinConfig& config, bool masked_patches, SourceLocation loc)
    : scope_(scope),
      config_(checked(config)),
      embedding_norm_(
          make_norm(scope / "embedding_norm", DType::f32, config.width, {.eps = kEps}, loc)),
      norm_(make_norm(scope / "norm", DType::f32, config.final_width(),
                      {.eps = config.layer_norm_eps}, loc)) {
  Graph::Frame frame(scope.graph(), "swin", loc, scope.path());
  const SwinConfig& c = config_;
  const VariableOptions start{.initializer = Initializer::truncated_normal(c.initializer_range)};
  patches_ = (scope / "patches")
                 .variable("weight", DType::f32,
                           {c.width, c.channels, c.patch_height, c.patch_width}, start);
  patches_bias_ = (scope / "patches").variable("bias", DType::f32, {c.width});
  if (masked_patches)
    mask_token_ = scope.variable("mask_token", DType::f32, {1, 1, c.width}, start);
  if (c.positions)
    positions_ =
        scope.variable("positions", DType::f32, {1, c.rows() * c.columns(), c.width}, start);
  std::int64_t index = 0;
  for (std::int64_t s = 0; s < c.stages(); ++s) {
    const Scope at = scope / "stages" / s;
    const VitConfig sizes = c.stage(s);
    Stage stage;
    for (std::int64_t i = 0; i < c.depth(s); ++i) {
      const Scope block = at / "blocks" / i;
      stage.blocks.push_back(
          make_vit_layer(block, sizes, drop_path_of(sizes, index++, c.blocks())));
      stage.blocks.back().relative_bias =
          (block / "attention")
              .variable("relative_bias", DType::f32,
                        {(2 * c.window - 1) * (2 * c.window - 1), sizes.heads});
    }
    if (s + 1 < c.stages()) {
      const Scope merge = at / "merge";
      stage.merge_norm = make_norm(merge / "norm", DType::f32, 4 * sizes.width, {.eps = kEps});
      stage.merge = make_linear(merge / "reduction", DType::f32, 4 * sizes.width, 2 * sizes.width,
                                {.bias = false, .initializer = start.initializer});
    }
    stages_.push_back(std::move(stage));
  }
}

Swin Swin::in(Mode mode) const {
  Swin result = *this;
  result.scope_ = scope_.in(mode);
  return result;
}

VitOutputs Swin::operator()(Value images, Value mask, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "swin", loc, scope_.path());
  const SwinConfig& c = config_;
  const auto fail = [&](const std::string& what) {
    graph.fail(ShapeError(what), "swin", {images}, loc);
  };
  if (images.rank() != 4 || images.size(1) != Dim(c.channels) || !images.size(2).is_constant() ||
      !images.size(3).is_constant() || images.size(2).constant() < 1 ||
      images.size(3).constant() < 1)
    fail(
        fmt::format("images must be [batch, {}, height, width] with a constant height and width "
                    "of at least 1",
                    c.channels));
  if (mask.defined() && !mask_token_.defined()) {
    graph.fail(
        ArgumentError("patches can be masked only in a model that was built with masked_patches"),
        "swin", {images, mask}, loc);
  }
  const Dim& batch = images.size(0);
  const std::int64_t height = images.size(2).constant(), width = images.size(3).constant();
  PatchGrid grid{(height + c.patch_height - 1) / c.patch_height,
                 (width + c.patch_width - 1) / c.patch_width};
  if (c.positions && grid != PatchGrid{c.rows(), c.columns()})
    fail(
        fmt::format("images of a model with learned positions must have {} x {} patches, not {} x "
                    "{}",
                    c.rows(), c.columns(), grid.rows, grid.columns));
  images = pad(images, {{0, 0},
                        {0, 0},
                        {0, grid.rows * c.patch_height - height},
                        {0, grid.columns * c.patch_width - width}});
  const Value convolved =
      conv2d(images, patches_, patches_bias_, {.stride = {c.patch_height, c.patch_width}});
  Value h = embedding_norm_(
      permute(reshape(convolved, {batch, c.width, grid.rows * grid.columns}), {0, 2, 1}));
  if (mask.defined()) {
    const Value hidden = unsqueeze(cast(mask, h.dtype()), 2);
    h = h * (1 - hidden) + mask_token_ * hidden;
  }
  if (positions_.defined()) h = h + positions_;
  h = dropout(scope_, h, c.dropout);

  AttentionOptions options;
  if (drops_out(scope_, c.attention_dropout, loc)) {
    options.dropout = c.attention_dropout;
    options.key = graph.key("dropout");
  }
  VitOutputs outputs;
  outputs.hidden.push_back(h);
  for (const Stage& stage : stages_) {
    Value rows, regions;  // the blocks of a stage share them
    for (std::size_t i = 0; i < stage.blocks.size(); ++i) {
      const VitLayer& block = stage.blocks[i];
      const Windows windows(grid, c.window, i % 2 == 1);
      if (!rows.defined()) rows = graph.constant(bias_rows(windows.side, c.window));
      if (windows.shift > 0 && !regions.defined())
        regions = unsqueeze(graph.constant(region_scores(windows)), 1);
      h = block(scope_, h, [&](Value x) {
        return window_attention(block, x, windows, rows, regions, options);
      });
    }
    if (stage.merge) {
      h = (*stage.merge)((*stage.merge_norm)(join_patches(h, grid)));
      grid = {(grid.rows + 1) / 2, (grid.columns + 1) / 2};
    }
    outputs.hidden.push_back(h);
  }
  outputs.last_hidden_state = norm_(h);
  return outputs;
}

Value Swin::pool(Value last_hidden_state) const { return mean(last_hidden_state, 1); }

VitConfig patch_grid_config(const SwinConfig& config) {
  VitConfig grid = config.stage(config.stages() - 1);
  grid.image_height = config.image_height;
  grid.image_width = config.image_width;
  grid.patch_height = config.patch_height;
  grid.patch_width = config.patch_width;
  grid.channels = config.channels;
  return grid;
}

}  // namespace weft
