// Scalar models of iota and of ops that move elements (shapes, slices, indexed rows, blocks).
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "weft/core/error.h"
#include "weft/tests/reference/elementwise.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

Sizes index_of(std::int64_t flat, const Sizes& sizes) {
  Sizes index(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    index[i] = flat % sizes[i];
    flat /= sizes[i];
  }
  return index;
}
std::int64_t flat_of(const Sizes& index, const Sizes& sizes) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) flat = flat * sizes[i] + index[i];
  return flat;
}
bool inside(const Sizes& index, const Sizes& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (index[i] < 0 || index[i] >= sizes[i]) return false;
  }
  return true;
}

/// out[i] = in[0][from(i)], or `otherwise` if from(i) is nullopt.
void move(const ScalarCall& call, NumberTensor& out,
          const std::function<std::optional<Sizes>(const Sizes&)>& from, Number otherwise = {}) {
  for (std::int64_t flat = 0; flat < out.numel(); ++flat) {
    const auto source = from(index_of(flat, out.sizes));
    if (source && !inside(*source, call.in[0].sizes())) {
      throw ShapeError(
          fmt::format("scalar model: {} reads outside of {}", call.op.name, call.in[0].type_str()));
    }
    out.elements[static_cast<std::size_t>(flat)] =
        source ? element(call.in[0], flat_of(*source, call.in[0].sizes())) : otherwise;
  }
}

void same(const ScalarCall& call, std::vector<NumberTensor>& out) {
  for (std::int64_t i = 0; i < out[0].numel(); ++i) {
    out[0].elements[static_cast<std::size_t>(i)] = element(call.in[0], i);
  }
}

// With a single rank, a collective returns its operand, or zeros if there is no operand or no rank
// sends to this one.
void single_rank_collective(const ScalarCall& call, std::vector<NumberTensor>& out) {
  if (call.attributes.integer("ranks") != 1) throw StateError("there is one rank here");
  const Attribute* to = call.attributes.find("to");
  const bool sent = to == nullptr || !std::get<std::vector<std::int64_t>>(*to).empty();
  if (!call.in.empty() && sent) same(call, out);
}

void permute(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto& order = call.attributes.integers("order");
  move(call, out[0], [&](const Sizes& at) {
    Sizes from(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) from[static_cast<std::size_t>(order[i])] = at[i];
    return from;
  });
}

void broadcast_to(const ScalarCall& call, std::vector<NumberTensor>& out) {
  for (std::int64_t i = 0; i < out[0].numel(); ++i) {
    out[0].elements[static_cast<std::size_t>(i)] =
        element(call.in[0], broadcast_position(i, call.in[0].sizes(), out[0].sizes));
  }
}

void flip(const ScalarCall& call, std::vector<NumberTensor>& out) {
  move(call, out[0], [&](Sizes at) {
    for (const std::int64_t axis : call.attributes.integers("axes")) {
      const auto a = static_cast<std::size_t>(axis);
      at[a] = out[0].sizes[a] - 1 - at[a];
    }
    return at;
  });
}

void slice(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Sizes starts = call.attributes.shape("starts").constant();
  const auto& steps = call.attributes.integers("steps");
  move(call, out[0], [&](Sizes at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = starts[i] + at[i] * steps[i];
    return at;
  });
}

void unslice(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Sizes starts = call.attributes.shape("starts").constant();
  const auto& steps = call.attributes.integers("steps");
  for (std::int64_t flat = 0; flat < call.in[0].numel(); ++flat) {
    Sizes at = index_of(flat, call.in[0].sizes());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = starts[i] + at[i] * steps[i];
    if (!inside(at, out[0].sizes)) throw ShapeError("scalar model: unslice writes outside");
    out[0].elements[static_cast<std::size_t>(flat_of(at, out[0].sizes))] =
        element(call.in[0], flat);
  }
}

void slice_add(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const DType dtype = out[0].dtype;
  const Sizes starts = call.attributes.shape("starts").constant();
  const auto& steps = call.attributes.integers("steps");
  for (std::int64_t i = 0; i < call.in[0].numel(); ++i) {
    out[0].elements[static_cast<std::size_t>(i)] = element(call.in[0], i);
  }
  for (std::int64_t flat = 0; flat < call.in[1].numel(); ++flat) {
    Sizes at = index_of(flat, call.in[1].sizes());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = starts[i] + at[i] * steps[i];
    if (!inside(at, out[0].sizes)) throw ShapeError("scalar model: slice_add writes outside");
    Number& sum = out[0].elements[static_cast<std::size_t>(flat_of(at, out[0].sizes))];
    const Number added = element(call.in[1], flat);
    sum.integer = wrapped(static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.integer) +
                                                    static_cast<std::uint64_t>(added.integer)),
                          dtype);
    sum = is_integer(dtype) ? number_of_integer(sum.integer)
                            : approximate(sum.value + added.value, 1,
                                          std::fabs(sum.value) + std::fabs(added.value), dtype);
  }
}

void pad(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Sizes before = call.attributes.shape("before").constant();
  for (const Sizes& list : {before, call.attributes.shape("after").constant()}) {
    for (const std::int64_t n : list) {
      if (n < 0) throw ShapeError("scalar model: negative padding");
    }
  }
  const Tensor value = Tensor::scalar(out[0].dtype, call.attributes.real("value"));
  move(
      call, out[0],
      [&](Sizes at) -> std::optional<Sizes> {
        for (std::size_t i = 0; i < at.size(); ++i) at[i] -= before[i];
        return inside(at, call.in[0].sizes()) ? std::optional(at) : std::nullopt;
      },
      element(value, 0));
}

void concat(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  for (std::int64_t flat = 0; flat < out[0].numel(); ++flat) {
    Sizes at = index_of(flat, out[0].sizes);
    std::size_t k = 0;
    while (at[axis] >= call.in[k].sizes()[axis]) at[axis] -= call.in[k++].sizes()[axis];
    out[0].elements[static_cast<std::size_t>(flat)] =
        element(call.in[k], flat_of(at, call.in[k].sizes()));
  }
}

void iota(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  for (std::int64_t flat = 0; flat < out[0].numel(); ++flat) {
    const std::int64_t at = index_of(flat, out[0].sizes)[axis];
    out[0].elements[static_cast<std::size_t>(flat)] = number_of_integer(wrapped(at, out[0].dtype));
  }
}

void dim_value(const ScalarCall& call, std::vector<NumberTensor>& out) {
  out[0].elements[0] =
      number_of_integer(wrapped(call.attributes.dim("dim").constant(), out[0].dtype));
}

std::int64_t checked_index(const Tensor& index, std::int64_t at, std::int64_t bound) {
  const std::int64_t i = element(index, at).integer;
  if (i < 0 || i >= bound) {
    throw DataError(fmt::format("scalar model: index {} is not in [0, {})", i, bound));
  }
  return i;
}

/// Calls fn(position in x, position in the result) for every element that take() reads.
void for_taken(const ScalarCall& call, const std::function<void(std::int64_t, std::int64_t)>& fn) {
  const Lines lines(call.in[0].sizes(), call.attributes.integer("axis"));
  const Tensor& index = call.in[1];
  for (std::int64_t k = 0; k < index.numel(); ++k) checked_index(index, k, lines.length);
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t k = 0; k < index.numel(); ++k) {
      const std::int64_t row = checked_index(index, k, lines.length);
      for (std::int64_t i = 0; i < lines.inner; ++i) {
        fn(lines.at(o, row, i), (o * index.numel() + k) * lines.inner + i);
      }
    }
  }
}
/// As above, for take_along_axis().
void for_taken_along(const ScalarCall& call,
                     const std::function<void(std::int64_t, std::int64_t)>& fn) {
  const std::int64_t axis = call.attributes.integer("axis");
  const Tensor& index = call.in[1];
  const Lines lines(call.in[0].sizes(), axis), places(index.sizes(), axis);
  for (std::int64_t o = 0; o < places.outer; ++o) {
    for (std::int64_t k = 0; k < places.length; ++k) {
      for (std::int64_t i = 0; i < places.inner; ++i) {
        const std::int64_t at = places.at(o, k, i);
        fn(lines.at(o, checked_index(index, at, lines.length), i), at);
      }
    }
  }
}

void take(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const auto each = call.op.name == "take" ? for_taken : for_taken_along;
  each(call, [&](std::int64_t from, std::int64_t to) {
    out[0].elements[static_cast<std::size_t>(to)] = element(call.in[0], from);
  });
}

void combine_at(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::string& name = call.op.name;
  std::vector<std::vector<Number>> terms;
  for (std::int64_t i = 0; i < call.in[0].numel(); ++i) terms.push_back({element(call.in[0], i)});
  const auto each = name.starts_with("index_") ? for_taken : for_taken_along;
  each(call, [&](std::int64_t to, std::int64_t from) {
    terms[static_cast<std::size_t>(to)].push_back(element(call.in[2], from));
  });
  const std::string reduction = name.ends_with("_add") ? "sum" : name.substr(name.size() - 3);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    out[0].elements[i] =
        terms[i].size() == 1 ? terms[i][0] : scalar_reduction(reduction, terms[i], out[0].dtype);
  }
}

void one_hot(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t classes = out[0].sizes.back();
  for (std::int64_t i = 0; i < call.in[0].numel(); ++i) {
    const std::int64_t id = checked_index(call.in[0], i, classes);
    out[0].elements[static_cast<std::size_t>(i * classes + id)] = number_of_integer(1);
  }
}

void require_offsets(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t count = call.attributes.dim("count").constant();
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < call.in[0].numel(); ++i) {
    const std::int64_t offset = element(call.in[0], i).integer;
    if (offset < before || offset > (i == 0 ? 0 : count))
      throw DataError("scalar model: offsets do not ascend from 0");
    before = offset;
  }
  if (call.in[0].numel() == 0 && count > 0) throw DataError("scalar model: no offsets");
  same(call, out);
}

void require_range(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const std::int64_t last = call.attributes.dim("last").constant();
  const std::int64_t excluded = call.attributes.integer("excluded");
  const bool has_lengths = call.has(1);
  for (std::int64_t i = 0; i < call.in[0].numel(); ++i) {
    const std::int64_t row = has_lengths ? i / call.in[0].size(1) : 0;
    const bool checked = !has_lengths || i % call.in[0].size(1) < element(call.in[1], row).integer;
    const std::int64_t x = element(call.in[0], i).integer;
    if (checked && (x < 0 || x > last || (excluded >= 0 && x == excluded)))
      throw DataError("scalar model: out of range");
  }
  same(call, out);
}

Sizes checked_start(const Tensor& start, const Sizes& x, const Sizes& block) {
  Sizes at;
  for (std::size_t i = 0; i < x.size(); ++i) {
    at.push_back(element(start, static_cast<std::int64_t>(i)).integer);
    if (block[i] > x[i]) throw ShapeError("scalar model: the block is larger than x");
    if (at[i] < 0 || at[i] > x[i] - block[i]) throw DataError("scalar model: start out of range");
  }
  return at;
}

void dynamic_slice(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Sizes start = checked_start(call.in[1], call.in[0].sizes(), out[0].sizes);
  move(call, out[0], [&](Sizes at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += start[i];
    return at;
  });
}

void dynamic_update_slice(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor& update = call.in[1];
  const Sizes start = checked_start(call.in[2], call.in[0].sizes(), update.sizes());
  same(call, out);
  for (std::int64_t flat = 0; flat < update.numel(); ++flat) {
    Sizes at = index_of(flat, update.sizes());
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += start[i];
    out[0].elements[static_cast<std::size_t>(flat_of(at, out[0].sizes))] = element(update, flat);
  }
}

void tensor_scatter(const ScalarCall& call, std::vector<NumberTensor>& out) {
  const Tensor &x = call.in[0], &update = call.in[1];
  const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
  const bool table = call.has(3) && call.in[3].rank() == 2;
  const std::int64_t columns = table ? call.in[3].size(1) : 1;
  const auto row_of = [&](std::int64_t b, std::int64_t column = 0) {
    return call.has(3) ? element(call.in[3], b * columns + column).integer : b;
  };
  same(call, out);
  for (std::int64_t b = 0; b < update.size(0); ++b) {
    const std::int64_t start = element(call.in[2], b).integer, row = table ? 0 : row_of(b);
    const std::int64_t room = x.sizes()[axis] * columns - update.sizes()[axis];
    if (start < 0 || (start > room && !call.attributes.flag("circular")) ||
        (!table && (row < 0 || row >= x.size(0))))
      throw DataError("scalar model: a block is out of range");
  }
  std::map<std::int64_t, std::int64_t> written;  // element of x -> element of update
  for (std::int64_t flat = 0; flat < update.numel(); ++flat) {
    Sizes at = index_of(flat, update.sizes());
    const std::int64_t length = x.sizes()[axis] * columns;
    const std::int64_t entry = (at[axis] + element(call.in[2], at[0]).integer % length) % length;
    at[axis] = entry % x.sizes()[axis];
    at[0] = row_of(at[0], entry / x.sizes()[axis]);
    if (table && at[0] == -1) continue;
    if (at[0] < 0 || at[0] >= x.size(0)) throw DataError("scalar model: a row is out of range");
    if (!written.emplace(flat_of(at, x.sizes()), flat).second)
      throw DataError("scalar model: two blocks overlap");
  }
  for (const auto& [to, from] : written)
    out[0].elements[static_cast<std::size_t>(to)] = element(update, from);
}

}  // namespace

void add_movement_models(ScalarModels& models) {
  models["reshape"] = models["stop_gradient"] = models["optimization_barrier"] = same;
  models["shard_sum"] = models["shard_concat"] = same;
  for (const char* name : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                           "broadcast_from", "send_recv", "rank_number"})
    models[name] = single_rank_collective;
  models["with_update"] = same;
  models["permute"] = permute;
  models["broadcast_to"] = broadcast_to;
  models["flip"] = flip;
  models["slice"] = slice;
  models["unslice"] = unslice;
  models["slice_add"] = slice_add;
  models["pad"] = pad;
  models["concat"] = concat;
  models["iota"] = iota;
  models["dim_value"] = dim_value;
}

void add_index_models(ScalarModels& models) {
  models["take"] = models["take_along_axis"] = take;
  for (const char* name : {"add", "max", "min"}) {
    models[std::string("index_") + name] = models[std::string("scatter_") + name] = combine_at;
  }
  models["one_hot"] = one_hot;
  models["require_offsets"] = require_offsets;
  models["require_range"] = require_range;
  models["dynamic_slice"] = dynamic_slice;
  models["dynamic_update_slice"] = dynamic_update_slice;
  models["tensor_scatter"] = tensor_scatter;
}

}  // namespace weft::testing
