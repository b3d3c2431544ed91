#include "weft/tests/support/cases/vary_sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "weft/ops/operands.h"
#include "weft/tests/support/cases/sample_values.h"
#include "weft/tests/support/cases/symbolic_sample.h"
#include "weft/tests/support/cases/vary_structure.h"

namespace weft::testing {
namespace {

constexpr std::int64_t kManyRows = 1 << 16;

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                             DType::i32, DType::i8,  DType::u8,   DType::boolean};

std::int64_t draw_integer(Draw& draw, bool extreme) {
  static constexpr std::int64_t kExtreme[] = {std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::int64_t>::max() / 2 + 1,
                                              std::numeric_limits<std::int32_t>::max(),
                                              std::numeric_limits<std::int32_t>::min(),
                                              std::int64_t{1} << 31,
                                              std::int64_t{1} << 32,
                                              std::int64_t{1} << 62,
                                              -(std::int64_t{1} << 62)};
  static constexpr std::int64_t kUsual[] = {-2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 100, -100};
  return extreme ? draw.pick(kExtreme) : draw.pick(kUsual);
}

double draw_real(Draw& draw, bool extreme) {
  static constexpr double kExtreme[] = {std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(),
                                        1e300,
                                        5e-324,
                                        -1e39};
  static constexpr double kUsual[] = {0, -0.0, 1, 0.5, 0.1, 0.9, -1, 2, 1e-6, 1e-12, 3.25};
  return extreme ? draw.pick(kExtreme) : draw.pick(kUsual);
}

// Returns another value for an attribute, which the rule may reject.
Attribute other_value(const Attribute& value, Draw& draw, const VaryOptions& options) {
  const bool extreme = draw.one_in(options.extreme_one_in);
  return std::visit(
      [&]<class T>(const T& v) -> Attribute {
        if constexpr (std::is_same_v<T, bool>) {
          return !v;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return draw_integer(draw, extreme);
        } else if constexpr (std::is_same_v<T, double>) {
          return draw_real(draw, extreme);
        } else if constexpr (std::is_same_v<T, DType>) {
          return draw.pick(kDTypes);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          T changed = v;
          if (changed.empty() || draw.one_in(8)) {
            changed.push_back(draw_integer(draw, extreme));
          } else if (draw.one_in(6)) {
            changed.pop_back();
          } else if (draw.one_in(3)) {
            std::swap(changed[static_cast<std::size_t>(draw.below(std::ssize(changed)))],
                      changed[0]);
          } else {
            changed[static_cast<std::size_t>(draw.below(std::ssize(changed)))] =
                draw_integer(draw, extreme);
          }
          return changed;
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          T changed = v;
          if (changed.empty()) return changed;
          changed[static_cast<std::size_t>(draw.below(std::ssize(changed)))] =
              draw_real(draw, extreme);
          return changed;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return draw.one_in(20) ? v + "?" : v;
        } else {
          return v;  // these sizes change together with the input sizes
        }
      },
      value);
}

void vary_attributes(const OpRecord& op, const std::vector<OpSample>& samples, OpSample& sample,
                     Draw& draw, const VaryOptions& options) {
  const Attributes complete = op.complete(sample.attributes);
  for (const auto& [name, value] : complete) {
    if (!draw.one_in(4)) continue;
    const Attribute* other = draw.pick(samples).attributes.find(name);
    if (other != nullptr && other->index() == value.index() && draw.one_in(2)) {
      sample.attributes.set(name, *other);
    } else {
      sample.attributes.set(name, other_value(value, draw, options));
    }
  }
}

// Removes optional inputs, or adds some from other samples.
void vary_presence(const OpRecord& op, const std::vector<OpSample>& samples, OpSample& sample,
                   Draw& draw) {
  if (!op.inputs.empty() && op.inputs.back().arity == Arity::variadic) {
    if (!sample.inputs.empty() && draw.one_in(4)) {
      sample.inputs.push_back(draw.pick(sample.inputs));
    } else if (sample.inputs.size() > op.inputs.size() && draw.one_in(4)) {
      sample.inputs.pop_back();
    }
    return;
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].arity != Arity::optional) continue;
    if (i < sample.inputs.size() && sample.inputs[i].defined()) {
      if (draw.one_in(6)) sample.inputs[i] = Tensor();
    } else if (draw.one_in(4)) {
      const auto& other = draw.pick(samples).inputs;
      if (i < other.size() && other[i].defined()) {
        if (sample.inputs.size() <= i) sample.inputs.resize(i + 1);
        sample.inputs[i] = other[i];
      }
    }
  }
  while (!sample.inputs.empty() && !sample.inputs.back().defined() && draw.one_in(2)) {
    sample.inputs.pop_back();
  }
}

void vary_dtypes(OpSample& sample, Draw& draw) {
  if (sample.inputs.empty() || !draw.one_in(3)) return;
  const Tensor chosen = draw.pick(sample.inputs);
  if (!chosen.defined()) return;
  const DType from = chosen.dtype(), to = draw.pick(kDTypes);
  const bool all = !draw.one_in(4);
  for (Tensor& t : sample.inputs) {
    if (t.defined() && t.dtype() == from && (all || draw.one_in(2))) {
      t = Tensor::zeros(to, t.sizes());
    }
  }
  if (!all) return;
  Attributes changed = sample.attributes;
  for (const auto& [name, value] : sample.attributes) {
    const DType* dtype = std::get_if<DType>(&value);
    if (dtype != nullptr && *dtype == from && draw.one_in(2)) changed.set(name, to);
  }
  sample.attributes = std::move(changed);
}

// Returns the total number of elements of all tensors, capped at `limit` + 1, or nullopt if sizes
// are negative or overflow.
std::optional<std::int64_t> all_elements(const OpRecord& op, const OpSample& sample) {
  try {
    std::int64_t total = 0;
    const auto add = [&](std::int64_t n) {
      total = std::min(total + std::min(n, std::int64_t{1} << 40), std::int64_t{1} << 40);
    };
    for (const Tensor& t : sample.inputs) {
      if (t.defined()) add(t.numel());
    }
    for (const ValueType& type : output_types(op, sample)) {
      add(num_elements(type.shape.constant()));
    }
    return total;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool affordable(const OpRecord& op, const OpSample& sample, const VaryOptions& options) {
  const auto elements = all_elements(op, sample);
  if (!elements || *elements > options.elements) return false;
  if (op.cost == nullptr) return true;
  KernelRequest request;
  request.attributes = op.complete(sample.attributes);
  for (const Tensor& t : sample.inputs) {
    request.inputs.push_back(t.defined() ? OperandSpec{t.dtype(), t.sizes(), true}
                                         : OperandSpec{DType::f32, {}, false});
  }
  for (const ValueType& type : output_types(op, sample)) {
    request.outputs.push_back({type.dtype, type.shape.constant(), true});
  }
  return op.cost(request).flops <= options.flops;
}

// Returns the sample with different values for some symbols. All elements are zero.
std::optional<OpSample> with_sizes(const OpSample& sample, const SymbolicSample& symbolic,
                                   const Bindings& values, std::int64_t limit) {
  OpSample changed = sample;
  try {
    for (std::size_t i = 0; i < changed.inputs.size(); ++i) {
      if (!changed.inputs[i].defined()) continue;
      const Sizes sizes = symbolic.inputs[i].shape.evaluate(values);
      if (num_elements(sizes) > limit) return std::nullopt;
      if (sizes != changed.inputs[i].sizes()) {
        changed.inputs[i] = Tensor::zeros(changed.inputs[i].dtype(), sizes);
      }
    }
    changed.attributes = symbolic.attributes.evaluate(values);
  } catch (const Error&) {
    return std::nullopt;
  }
  return changed;
}

Bindings other_values(const SymbolicSample& symbolic, Draw& draw, std::int64_t large) {
  Bindings values;
  // If another axis has size 0, large sizes need no memory.
  if (large > kManyRows && draw.one_in(4)) {
    large = draw.pick(std::array{(std::int64_t{1} << 31) + 3, std::int64_t{1} << 40});
  }
  const auto count = static_cast<std::int64_t>(symbolic.symbols.size());
  const bool all = draw.one_in(3);
  const std::int64_t one = count > 0 ? draw.below(count) : 0;
  const bool beside_zero = draw.one_in(10);
  for (std::int64_t i = 0; i < count; ++i) {
    const SymbolPtr& s = symbolic.symbols[static_cast<std::size_t>(i)];
    std::int64_t value = *symbolic.values.find(*s);
    if (all || i == one || draw.one_in(4)) value = draw_size(draw);
    if (beside_zero) value = i == one ? 0 : draw.one_in(2) ? large : value;
    values.bind(s, value);
  }
  return values;
}

OpSample vary_sizes(const OpRecord& op, const OpSample& sample, Draw& draw,
                    const VaryOptions& options) {
  // Axes of size 1 may broadcast, so in some cases their sizes stay concrete.
  const int kept = draw.one_in(4) ? 0 : 2;
  auto symbolic = symbolise(op, sample, Equalities::solve, [&](std::int64_t size) {
    return size == 1 && (kept == 0 || !draw.one_in(kept));
  });
  if (!symbolic) {
    symbolic =
        symbolise(op, sample, Equalities::solve, [](std::int64_t size) { return size == 1; });
  }
  if (!symbolic) return sample;
  const bool illegal = draw.one_in(options.illegal_one_in);
  for (int attempt = 0; attempt < 24; ++attempt) {
    const auto changed = with_sizes(
        sample, *symbolic, other_values(*symbolic, draw, options.beside_zero), options.elements);
    if (!changed) continue;
    if (is_legal(op, *changed) ? affordable(op, *changed, options) : illegal) return *changed;
  }
  return sample;
}

}  // namespace

std::int64_t draw_size(Draw& draw) {
  static constexpr std::int64_t kSmall[] = {0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5};
  // Sizes near vector lengths (16 to 64 bytes) and block sizes.
  static constexpr std::int64_t kLanes[] = {3,  4,  5,  7,  8,  9,  15, 16,  17,  31,
                                            32, 33, 63, 64, 65, 79, 96, 127, 128, 129};
  static constexpr std::int64_t kPrimes[] = {7, 11, 13, 19, 23, 37, 53, 61, 97, 131, 257, 509};
  switch (draw.below(8)) {
    case 0:
    case 1:
    case 2: return draw.pick(kSmall);
    case 3: return draw.pick(kPrimes);
    case 4: return draw.below(20);
    case 5: return draw.one_in(8) ? 1000 + draw.below(4000) : draw.pick(kSmall);
    default: return draw.pick(kLanes);
  }
}

std::vector<ValueType> output_types(const OpRecord& op, const OpSample& sample) {
  std::vector<ValueType> types(sample.inputs.size());
  std::vector<const ValueType*> pointers;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Tensor& t = sample.inputs[i];
    if (t.defined()) types[i] = {t.dtype(), Shape(t.sizes())};
    pointers.push_back(t.defined() ? &types[i] : nullptr);
  }
  const Attributes complete = op.complete(sample.attributes);
  return op.infer(InferContext(op.name, pointers, complete, DimFacts()));
}

bool is_legal(const OpRecord& op, const OpSample& sample) {
  std::vector<bool> given;
  for (const Tensor& t : sample.inputs) given.push_back(t.defined());
  try {
    check_operands(op, given);
    for (const ValueType& type : output_types(op, sample))
      tensor_bytes(type.dtype, type.shape.constant());
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

// Collectives run on a single rank here.
void keep_ranks(const OpRecord& op, OpSample& sample) {
  if (op.has(Trait::collective)) sample.attributes.set("ranks", std::int64_t{1});
}

}  // namespace

OpSample vary_sample(const OpRecord& op, const std::vector<OpSample>& samples, Draw& draw,
                     const VaryOptions& options) {
  const OpSample original = draw.pick(samples);
  OpSample sample = original;
  // Apply the changes one after the other. A change that the rule rejects is usually undone.
  const auto attempt = [&](const auto& change) {
    for (int i = 0; i < 3; ++i) {
      OpSample changed = sample;
      change(changed);
      keep_ranks(op, changed);
      if (is_legal(op, changed) ? affordable(op, changed, options)
                                : draw.one_in(options.illegal_one_in * 4)) {
        sample = std::move(changed);
        return;
      }
    }
  };
  attempt([&](OpSample& s) { vary_presence(op, samples, s, draw); });
  attempt([&](OpSample& s) { vary_dtypes(s, draw); });
  if (draw.one_in(4)) attempt([&](OpSample& s) { vary_rank(s, draw); });
  if (draw.one_in(6)) attempt([&](OpSample& s) { vary_broadcasting(s, draw); });
  attempt([&](OpSample& s) { vary_attributes(op, samples, s, draw, options); });
  sample = vary_sizes(op, sample, draw, options);
  if (draw.one_in(2)) {
    attempt([&](OpSample& s) { vary_attributes(op, samples, s, draw, options); });
  }
  if (draw.one_in(options.illegal_one_in * 3)) break_structure(op, sample, draw);
  keep_ranks(op, sample);
  draw_values(op, original, samples, sample, draw, options.values);
  if (options.values != Values::spread && draw.one_in(8)) share_operands(sample, draw);
  return sample;
}

std::string describe(const OpSample& sample) {
  std::string text;
  for (const Tensor& t : sample.inputs) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", t.defined() ? t.str() : "absent");
  }
  for (const auto& [name, value] : sample.attributes) {
    text += fmt::format("; {}=", name);
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, DType>) {
            text += dtype_name(v);
          } else if constexpr (std::is_same_v<T, Dim> || std::is_same_v<T, Shape> ||
                               std::is_same_v<T, Tensor>) {
            text += v.str();
          } else {
            text += fmt::format("{}", v);
          }
        },
        value);
  }
  return text;
}

}  // namespace weft::testing
