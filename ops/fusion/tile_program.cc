#include "weft/ops/fusion/tile_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weft/core/error.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

std::string float_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(value), std::chars_format::hex);
  return fmt::format("{}0x{}", std::signbit(value) ? "-" : "", std::string_view(buffer, end.ptr));
}

std::string attribute_text(const Attribute& value) {
  if (const auto* v = std::get_if<bool>(&value)) return *v ? "true" : "false";
  if (const auto* v = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *v);
  if (const auto* v = std::get_if<double>(&value)) return float_text(*v);
  return std::string(dtype_name(std::get<DType>(value)));
}

// The maximum number of operands in an instruction (TileSchedule::Instruction).
constexpr std::size_t kMaxOperands = 3;

bool is_plain(const Attribute& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value) ||
         std::holds_alternative<double>(value) || std::holds_alternative<DType>(value);
}

class Parser {
 public:
  Parser(std::string_view text, const OpSet& ops) : rest_(text), ops_(ops) {}

  TileProgram parse() {
    TileProgram program;
    while (!take("return ")) {
      const int value = parse_value();
      if (program.steps.empty()) program.inputs = value;
      if (value != program.values()) {
        fail(fmt::format("the next value must be %{}", program.values()));
      }
      expect(" = ");
      program.steps.push_back(parse_step(value));
      expect("; ");
      if (program.steps.size() > TileProgram::kMaxSteps) fail("more than 64 steps");
    }
    do {
      const int value = parse_value();
      if (value < program.inputs || value >= program.values())
        fail("a result must be the value of a step");
      if (std::count(program.results.begin(), program.results.end(), value) > 0) {
        fail(fmt::format("%{} is returned twice", value));
      }
      program.results.push_back(value);
    } while (take(", "));
    if (!rest_.empty()) fail("text after the results");
    if (program.inputs > TileProgram::kMaxInputs) fail("more than 24 inputs");
    if (program.results.size() > TileProgram::kMaxResults) fail("more than 8 results");
    return program;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(fmt::format("tile program: {} before '{}'", what, rest_.substr(0, 40)));
  }
  bool take(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) fail(fmt::format("'{}' is missing", text));
  }
  std::string_view word(std::string_view stops) {
    const std::string_view result = rest_.substr(0, rest_.find_first_of(stops));
    rest_.remove_prefix(result.size());
    return result;
  }

  int parse_value() {
    expect("%");
    int value = -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0 || value > 1000) fail("expected a value number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  TileStep parse_step(int value) {
    TileStep step;
    const std::string_view name = word("(");
    step.op = ops_.find(name);
    if (step.op == nullptr || step.op->row == nullptr) {
      fail(fmt::format("'{}' is not an elementwise op", name));
    }
    expect("(");
    Attributes given;
    if (!take(")")) {
      do {
        if (rest_.starts_with('%')) {
          step.operands.push_back(parse_value());
          if (step.operands.back() >= value) fail("an operand is defined after its use");
        } else {
          parse_attribute(*step.op, given);
        }
      } while (take(", "));
      expect(")");
    }
    if (step.operands.size() != step.op->inputs.size()) {
      fail(fmt::format("{} requires {} operands, not {}", name, step.op->inputs.size(),
                       step.operands.size()));
    }
    try {
      step.attributes = step.op->complete(given);
    } catch (const Error& e) {
      fail(e.what());
    }
    return step;
  }

  void parse_attribute(const OpRecord& op, Attributes& given) {
    const std::string_view name = word("=");
    expect("=");
    const std::string_view text = word(",)");
    const auto spec = std::find_if(op.attributes.begin(), op.attributes.end(),
                                   [&](const AttributeSpec& s) { return s.name == name; });
    if (spec == op.attributes.end()) fail(fmt::format("{} has no attribute '{}'", op.name, name));
    given.set(name, parse_plain(text, spec->default_value));
  }

  Attribute parse_plain(std::string_view text, const Attribute& like) const {
    const char* end = text.data() + text.size();
    if (std::holds_alternative<bool>(like) && (text == "true" || text == "false")) {
      return text == "true";
    }
    if (std::holds_alternative<std::int64_t>(like)) {
      std::int64_t value = 0;
      const auto [stop, error] = std::from_chars(text.data(), end, value);
      if (error == std::errc() && stop == end) return value;
    }
    if (std::holds_alternative<double>(like)) {
      const bool negative = text.starts_with('-');
      std::string_view digits = text.substr(negative ? 1 : 0);
      const bool hex = digits.starts_with("0x");
      if (hex) digits.remove_prefix(2);
      double value = 0;
      const auto [stop, error] = std::from_chars(
          digits.data(), end, value, hex ? std::chars_format::hex : std::chars_format::general);
      if (error == std::errc() && stop == end) return negative ? -value : value;
    }
    if (std::holds_alternative<DType>(like)) return parse_dtype(text);
    fail(fmt::format("'{}' is not a {}", text, attribute_type_name(like)));
  }

  std::string_view rest_;
  const OpSet& ops_;
};

}  // namespace

std::string TileProgram::str() const {
  std::string text;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const TileStep& step = steps[s];
    text += fmt::format("%{} = {}(", inputs + static_cast<int>(s), step.op->name);
    const char* separator = "";
    for (const int operand : step.operands) {
      text += fmt::format("{}%{}", separator, operand);
      separator = ", ";
    }
    for (const AttributeSpec& spec : step.op->attributes) {
      const Attribute* value = step.attributes.find(spec.name);
      if (!spec.required && identical(*value, spec.default_value)) continue;
      text += fmt::format("{}{}={}", separator, spec.name, attribute_text(*value));
      separator = ", ";
    }
    text += "); ";
  }
  const char* separator = "return ";
  for (const int result : results) {
    text += fmt::format("{}%{}", separator, result);
    separator = ", ";
  }
  return text;
}

TileProgram TileProgram::parse(std::string_view text, const OpSet* ops) {
  if (ops != nullptr) return Parser(text, *ops).parse();
  const std::shared_ptr<const OpSet> own = builtin_ops_if_linked();
  return Parser(text, own != nullptr ? *own : OpSet()).parse();
}

bool can_be_step(const OpRecord& op, const Attributes& attributes, const OpSet& ops) {
  if (op.row == nullptr || op.outputs.size() != 1 || op.inputs.empty()) return false;
  if (op.inputs.size() > kMaxOperands || ops.find(op.name) != &op) return false;
  return std::all_of(attributes.begin(), attributes.end(),
                     [](const auto& entry) { return is_plain(entry.second); });
}

bool reads_whole(const OpRecord& op, std::size_t k) {
  return op.has(Trait::random) && op.inputs[k].name == "key";
}

std::vector<char> whole_inputs(const TileProgram& program) {
  std::vector<char> whole(static_cast<std::size_t>(program.inputs), 0);
  const auto mark = [&](int value) {
    if (value < program.inputs) whole[static_cast<std::size_t>(value)] = 1;
  };
  for (const TileStep& step : program.steps) {
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      if (reads_whole(*step.op, k)) mark(step.operands[k]);
    }
  }
  return whole;
}

std::vector<const ValueType*> operands_from(const InferContext& context, int first) {
  std::vector<const ValueType*> operands;
  for (int i = first; i < context.input_count(); ++i) {
    if (!context.has(i)) continue;
    if (static_cast<int>(operands.size()) < i - first) {
      throw ArgumentError(fmt::format(
          "operand {} is missing, but operand {} is given: the inputs of a program must not "
          "have gaps",
          first + static_cast<int>(operands.size()), i));
    }
    operands.push_back(&context.input(i));
  }
  return operands;
}

std::vector<ValueType> infer_values(const TileProgram& program,
                                    const std::vector<const ValueType*>& inputs,
                                    const DimFacts& facts) {
  if (static_cast<int>(inputs.size()) != program.inputs) {
    throw ArgumentError(fmt::format("the program has {} inputs, but {} operands are given",
                                    program.inputs, inputs.size()));
  }
  std::vector<ValueType> types;
  types.reserve(static_cast<std::size_t>(program.values()));
  for (const ValueType* type : inputs) {
    if (type == nullptr) throw ArgumentError("an operand of the program is missing");
    types.push_back(*type);
  }
  const std::vector<char> whole = whole_inputs(program);
  for (const TileStep& step : program.steps) {
    const auto index = types.size();
    std::vector<const ValueType*> operands;
    RowRequest row{{}, DType::f32, 0, step.attributes};
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const int v = step.operands[k];
      const bool is_whole = v < program.inputs && whole[static_cast<std::size_t>(v)] != 0;
      if (is_whole != reads_whole(*step.op, k)) {
        throw ArgumentError(fmt::format(
            "%{} = {}: operand {} must {}", index, step.op->name, step.op->inputs[k].name,
            is_whole ? "not be an input that other steps read as a key" : "be an input"));
      }
      operands.push_back(&types[static_cast<std::size_t>(v)]);
      row.inputs.push_back(operands.back()->dtype);
    }
    ValueType type;
    try {
      type = step.op->infer(InferContext(step.op->name, operands, step.attributes, facts)).at(0);
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("%{} = {}: {}", index, step.op->name, e.what()));
    }
    row.output = type.dtype;
    if (!step.op->row(row)) {
      throw ArgumentError(
          fmt::format("%{} = {}: cannot be fused for {}", index, step.op->name, type.str()));
    }
    const ValueType& first = index == static_cast<std::size_t>(program.inputs)
                                 ? type
                                 : types[static_cast<std::size_t>(program.inputs)];
    if (!(type.shape == first.shape)) {
      throw ArgumentError(fmt::format("%{} = {}: has shape {}, but the steps before it have {}",
                                      index, step.op->name, type.shape.str(), first.shape.str()));
    }
    types.push_back(std::move(type));
  }
  return types;
}

std::string summary(const TileProgram& program) {
  constexpr std::size_t kMaxNames = 6;
  std::string text;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (s == kMaxNames && program.steps.size() > kMaxNames + 1) {
      return text + fmt::format("+{} more", program.steps.size() - kMaxNames);
    }
    text += (s > 0 ? "+" : "") + program.steps[s].op->name;
  }
  return text;
}

}  // namespace weft
