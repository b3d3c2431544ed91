// Builder::grow(): adds the next op, either with random operands or from a sample of the record.
#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/tests/random_programs/builder.h"

namespace weft::testing {
namespace {

constexpr int kAttempts = 40;

/// Returns true for ops that may be drawn: all except inputs, variables and calls.
bool can_be_drawn(const OpRecord& op) {
  return !op.has_bodies() && (!op.has(Trait::leaf) || op.kernel != nullptr);
}

/// Collects all sizes other than 0 and 1.
void collect_sizes(const Sizes& sizes, std::set<std::int64_t>& all) {
  for (const std::int64_t s : sizes) {
    if (s > 1) all.insert(s);
  }
}

using Renaming = std::map<std::int64_t, Dim>;
Dim renamed(const Dim& dim, const Renaming& to) {
  if (!dim.is_constant()) return dim;
  const auto it = to.find(dim.constant());
  return it == to.end() ? dim : it->second;
}
Shape renamed(const Shape& shape, const Renaming& to) {
  Shape result;
  for (const Dim& d : shape) result.push_back(renamed(d, to));
  return result;
}
Attributes renamed(const Attributes& attributes, const Renaming& to) {
  Attributes result = attributes;
  for (const auto& [name, value] : attributes) {
    if (const Dim* d = std::get_if<Dim>(&value)) result.set(name, renamed(*d, to));
    if (const Shape* s = std::get_if<Shape>(&value)) result.set(name, renamed(*s, to));
  }
  return result;
}

}  // namespace

const std::vector<const OpRecord*>& drawable_records() {
  static const auto all = [] {
    std::vector<const OpRecord*> drawable;
    for (const OpRecord* op : builtin_ops()->all()) {
      if (can_be_drawn(*op)) drawable.push_back(op);
    }
    return drawable;
  }();
  return all;
}

const OpRecord* Builder::draw_record() {
  if (!options_.records.empty() && random_.chance(0.85)) return random_.pick(options_.records);
  return random_.pick(drawable_records());
}

bool Builder::grow() {
  const OpRecord& op = *draw_record();
  if (options_.smooth && op.gradient == Gradient::none && random_.chance(0.7)) return false;
  const bool from_sample = random_.chance(0.4);
  for (const bool sample : {from_sample, !from_sample}) {
    if (sample ? try_sample(op) != nullptr : try_free(op) != nullptr) return true;
  }
  return false;
}

// -- Random operands ------------------------------------------------------------------------------

Value Builder::pick_operand(const std::vector<Value>& before, const InputSpec& spec) {
  if (spec.name == "key" && random_.chance(0.9)) return key();
  // Recent values are used more often, so that chains become deep.
  const auto any = [&]() -> const Entry& {
    const auto n = static_cast<std::int64_t>(pool_.size());
    const std::int64_t back =
        random_.chance(0.5) ? random_.below(std::min<std::int64_t>(n, 6)) : random_.below(n);
    return pool_[static_cast<std::size_t>(n - 1 - back)];
  };
  if (before.empty()) return any().value;
  const auto dice = random_.below(10);
  for (int i = 0; i < 20; ++i) {
    const Value v = any().value;
    const bool same_dtype = v.dtype() == before[0].dtype();
    if (dice < 5 && same_dtype && v.shape() == before.back().shape()) return v;
    if (dice >= 5 && dice < 8 && same_dtype) return v;
    if (dice == 8 && (v.dtype() == DType::i64 || v.dtype() == DType::i32)) return v;
    if (dice == 9) return v;
  }
  return any().value;
}

Dim Builder::random_dim() {
  const Value v = random_.pick(pool_).value;
  if (v.rank() > 0 && random_.chance(0.6))
    return v.shape()[static_cast<int>(random_.below(v.rank()))];
  return Dim(random_.pick({0, 1, 2, 3, 4, 5, 8}));
}

Shape Builder::random_shape(const std::vector<Value>& inputs) {
  const Shape own = inputs.empty() ? random_.pick(pool_).value.shape() : inputs[0].shape();
  std::vector<Dim> dims(own.begin(), own.end());
  switch (random_.below(8)) {
    case 0: return random_.pick(pool_).value.shape();
    case 1: {  // merged axes
      if (dims.size() < 2) break;
      const auto i =
          static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(dims.size()) - 1));
      dims[i] = dims[i] * dims[i + 1];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return Shape(dims);
    }
    case 2:
      dims.insert(dims.begin() + random_.below(static_cast<std::int64_t>(dims.size()) + 1), Dim(1));
      return Shape(dims);
    case 3: {  // permuted axes
      random_.shuffle(dims);
      return Shape(dims);
    }
    case 4: {  // small numbers for starts and paddings
      for (Dim& d : dims) d = Dim(random_.below(3));
      return Shape(dims);
    }
    case 5: {  // some axes shorter or random
      for (Dim& d : dims) {
        if (random_.chance(0.5))
          d = random_.chance(0.5) ? d - Dim(random_.below(3)) : Dim(random_.from(0, 4));
      }
      return Shape(dims);
    }
    case 6: dims.insert(dims.begin(), random_dim()); return Shape(dims);
    default: break;
  }
  return Shape(dims);
}

Attribute Builder::random_attribute(const OpRecord& op, const AttributeSpec& spec,
                                    const std::vector<Value>& inputs) {
  const int rank = inputs.empty() || !inputs[0].defined() ? 2 : inputs[0].rank();
  if (spec.name == "stream") return graph_.next_stream();
  if (spec.name == "ranks" && op.has(Trait::collective)) return std::int64_t{1};
  if (!spec.required && random_.chance(0.4)) return spec.default_value;
  if (std::holds_alternative<bool>(spec.default_value)) return random_.chance(0.5);
  if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    return random_.chance(0.7) ? random_.below(std::max(rank, 1)) : random_.from(0, 5);
  }
  if (std::holds_alternative<double>(spec.default_value))
    return random_.pick({0.0, 0.25, 0.5, 1.0, 1e-5, -0.5, 2.0, 0.1});
  if (std::holds_alternative<DType>(spec.default_value))
    return options_.smooth ? random_.pick({DType::f32, DType::f32, DType::i64}) : any_dtype();
  if (std::holds_alternative<std::vector<std::int64_t>>(spec.default_value)) {
    std::vector<std::int64_t> list;
    for (int i = 0; i < rank; ++i) list.push_back(i);
    switch (random_.below(4)) {
      case 0: random_.shuffle(list); return list;
      case 1: std::erase_if(list, [&](std::int64_t) { return random_.chance(0.5); }); return list;
      case 2:
        for (std::int64_t& x : list) x = random_.pick({1, 1, 1, 2, -1, -2});
        return list;
      default: return std::vector<std::int64_t>{random_.from(0, 3), random_.from(0, 3)};
    }
  }
  if (std::holds_alternative<Dim>(spec.default_value)) return random_dim();
  if (std::holds_alternative<Shape>(spec.default_value)) return random_shape(inputs);
  return spec.default_value;
}

Attributes Builder::random_attributes(const OpRecord& op, const std::vector<Value>& inputs) {
  Attributes attributes;
  for (const AttributeSpec& spec : op.attributes)
    attributes.set(spec.name, random_attribute(op, spec, inputs));
  return attributes;
}

Node* Builder::try_free(const OpRecord& op) {
  for (const AttributeSpec& spec : op.attributes) {
    if (std::holds_alternative<std::string>(spec.default_value) && spec.required) return nullptr;
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<Value> inputs;
    for (const InputSpec& spec : op.inputs) {
      if (spec.arity == Arity::optional && random_.chance(0.5)) {
        inputs.emplace_back();
        continue;
      }
      const std::int64_t count = spec.arity == Arity::variadic ? random_.from(1, 3) : 1;
      std::vector<Value> before;
      for (const Value& v : inputs) {
        if (v.defined()) before.push_back(v);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        inputs.push_back(pick_operand(before, spec));
        before.push_back(inputs.back());
      }
    }
    if (!op.inputs.empty() && !inputs[0].defined()) continue;
    if (Node* node = apply(op, inputs, random_attributes(op, inputs))) return node;
  }
  return nullptr;
}

// -- Samples --------------------------------------------------------------------------------------

namespace {

/// Returns the samples of a record. They are created only once, because some of them are expensive.
const std::vector<OpSample>& samples_of(const OpRecord& op) {
  static std::map<std::string, std::vector<OpSample>> made;
  auto it = made.find(op.name);
  if (it == made.end()) {
    it =
        made.emplace(op.name, op.samples == nullptr ? std::vector<OpSample>() : op.samples()).first;
  }
  return it->second;
}

/// Determines how the sizes of a sample's operand must be renamed so that its shape becomes
/// `shape`. Returns false if that is impossible, because equal sizes must stay equal.
bool unify(const Sizes& sizes, const Shape& shape, Renaming& to) {
  if (static_cast<int>(sizes.size()) != shape.rank()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim& d = shape[static_cast<int>(i)];
    if (sizes[i] <= 1) {
      if (!(d == Dim(sizes[i]))) return false;
      continue;
    }
    const auto [it, fresh] = to.emplace(sizes[i], d);
    if (!fresh && !(it->second == d)) return false;
  }
  return true;
}

}  // namespace

Node* Builder::try_sample(const OpRecord& op) {
  std::vector<const OpSample*> samples;
  for (const OpSample& s : samples_of(op)) {
    std::int64_t most = 0;
    for (const Tensor& t : s.inputs) most = std::max(most, t.defined() ? t.numel() : 0);
    if (most <= options_.most) samples.push_back(&s);
  }
  if (samples.empty()) return nullptr;
  for (int attempt = 0; attempt < 6; ++attempt) {
    if (Node* node = try_sample(op, *random_.pick(samples), attempt == 5)) return node;
  }
  return nullptr;
}

// One operand may be an existing value that determines the sizes of the sample. All other sizes
// become constants or symbols, and equal sizes stay equal.
Node* Builder::try_sample(const OpRecord& op, const OpSample& sample, bool same_sizes) {
  Renaming to;
  std::set<std::int64_t> sizes;
  for (const Tensor& t : sample.inputs) {
    if (t.defined()) collect_sizes(t.sizes(), sizes);
  }
  const bool wide = !options_.smooth && random_.chance(0.2);
  const auto widened = [&](DType d) { return wide && d == DType::f32 ? DType::f64 : d; };
  std::vector<Value> inputs(sample.inputs.size());
  if (!same_sizes && !inputs.empty() && random_.chance(0.7)) {
    const auto i =
        static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(inputs.size())));
    const bool is_key = i < op.inputs.size() && op.inputs[i].name == "key";
    for (int tries = 0; sample.inputs[i].defined() && !is_key && tries < 30; ++tries) {
      const Value v = random_.pick(pool_).value;
      Renaming unified;
      if (v.dtype() != widened(sample.inputs[i].dtype()) ||
          !unify(sample.inputs[i].sizes(), v.shape(), unified)) {
        continue;
      }
      to = std::move(unified);
      inputs[i] = v;
      break;
    }
  }
  for (const std::int64_t s : sizes) {
    if (same_sizes || to.contains(s) || random_.chance(0.5)) continue;
    const auto& symbols = graph_.symbols();
    to[s] = !symbols.empty() && random_.chance(0.5)
                ? Dim(random_.pick(symbols))
                : Dim(random_.pick({0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17}));
  }
  Attributes attributes = renamed(sample.attributes, to);
  for (const auto& [name, value] : sample.attributes) {
    if (const DType* d = std::get_if<DType>(&value)) attributes.set(name, widened(*d));
    if (name == "stream") attributes.set(name, graph_.next_stream());
  }
  // Check the shape rule before creating any operands.
  std::vector<ValueType> types(inputs.size());
  std::vector<const ValueType*> pointers(types.size(), nullptr);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!sample.inputs[i].defined()) continue;
    types[i] = {widened(sample.inputs[i].dtype()), renamed(Shape(sample.inputs[i].sizes()), to)};
    pointers[i] = &types[i];
  }
  try {
    const Attributes complete = op.complete(attributes);
    op.infer(InferContext(op.name, pointers, complete, graph_.facts()));
  } catch (const Error&) {
    return nullptr;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (pointers[i] == nullptr || inputs[i].defined()) continue;
    const bool is_key = i < op.inputs.size() && op.inputs[i].name == "key";
    inputs[i] = is_key ? key() : obtain(types[i].dtype, types[i].shape, sample.inputs[i]);
    if (!inputs[i].defined()) return nullptr;
  }
  return apply(op, inputs, attributes);
}

}  // namespace weft::testing
