// Sequences and optional values, whose structure is known when the file is read.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kMaxParts = 1 << 16;

using Elements = std::vector<ImportedValue>;

const Elements& elements_of(NodeImport& n, std::size_t i) {
  const ImportedValue& value = n.any_input(i);
  if (value.kind != ImportedValue::Kind::sequence)
    throw FormatError(fmt::format("operand {} must be a sequence", i));
  return value.sequence;
}

// Returns operand 1 or 2 as a position in 0..count - 1.
std::ptrdiff_t position(NodeImport& n, std::size_t operand, std::size_t count) {
  const std::int64_t at = n.known_integer(operand), size = static_cast<std::int64_t>(count);
  if (at < -size || at >= size) {
    throw FormatError(
        fmt::format("position {} is out of range for a sequence of {} elements", at, count));
  }
  return static_cast<std::ptrdiff_t>(at < 0 ? at + size : at);
}

Elements sequence_empty(NodeImport& n) {
  n.skip_attribute("dtype");
  return {ImportedValue::sequence_of({})};
}

Elements sequence_construct(NodeImport& n) {
  const std::vector<Value> values = n.inputs();
  return {ImportedValue::sequence_of({values.begin(), values.end()})};
}

Elements sequence_at(NodeImport& n) {
  const Elements& elements = elements_of(n, 0);
  return {elements[static_cast<std::size_t>(position(n, 1, elements.size()))]};
}

Elements sequence_insert(NodeImport& n) {
  Elements elements = elements_of(n, 0);
  // A position may be the end of the sequence.
  const std::int64_t count = static_cast<std::int64_t>(elements.size());
  std::int64_t at = n.has(2) ? n.known_integer(2) : count;
  if (at < 0) at += count;
  if (at < 0 || at > count) {
    throw FormatError(
        fmt::format("position {} is out of range for a sequence of {} elements", at, count));
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), n.input(1));
  return {ImportedValue::sequence_of(std::move(elements))};
}

Elements sequence_erase(NodeImport& n) {
  Elements elements = elements_of(n, 0);
  if (elements.empty()) throw FormatError("the sequence is empty");
  elements.erase(n.has(1) ? elements.begin() + position(n, 1, elements.size())
                          : elements.end() - 1);
  return {ImportedValue::sequence_of(std::move(elements))};
}

Elements sequence_length(NodeImport& n) {
  return {n.graph().scalar(DType::i64, static_cast<double>(elements_of(n, 0).size()))};
}

Elements split_to_sequence(NodeImport& n) {
  const Value x = n.input(0);
  const int axis = n.axis("axis", 0, x.rank());
  const bool keepdims = n.flag("keepdims", true);
  const auto repeated = [&](std::int64_t size, std::int64_t count) {
    if (count > kMaxParts) n.unsupported(fmt::format("{} parts", count));
    return std::vector<Dim>(static_cast<std::size_t>(count), Dim(size));
  };
  std::vector<Dim> sizes;
  if (n.has(1)) {
    const Tensor split = n.known_input(1);
    sizes = n.sizes(1);
    if (split.rank() == 0) {
      // Chunks of this size; the last one may be smaller.
      const std::int64_t chunk = sizes[0].constant(), size = x.size(axis).constant();
      if (chunk < 1) throw FormatError(fmt::format("the size of the parts is {}", chunk));
      sizes = repeated(chunk, size / chunk);
      if (size % chunk != 0) sizes.emplace_back(size % chunk);
    }
  } else {
    sizes = repeated(1, x.size(axis).constant());
  }
  Dim total;
  for (const Dim& size : sizes) total += size;
  require_equal(n, total, x.size(axis));
  Elements elements;
  for (const Value& part : sizes.empty() ? std::vector<Value>() : split(x, sizes, axis))
    elements.emplace_back(n.has(1) || keepdims ? part : squeeze(part, {axis}));
  return {ImportedValue::sequence_of(std::move(elements))};
}

Elements concat_from_sequence(NodeImport& n) {
  std::vector<Value> values;
  for (const ImportedValue& element : elements_of(n, 0)) values.push_back(element.tensor);
  if (values.empty()) n.unsupported("an empty sequence");
  const bool new_axis = n.flag("new_axis");
  const int axis =
      n.normalised_axis(n.integer("axis"), values[0].rank() + static_cast<int>(new_axis));
  return {new_axis ? stack(values, axis) : concat(values, axis)};
}

Elements sequence_map(NodeImport& n) {
  const auto& body = n.body("body");
  const std::size_t length = elements_of(n, 0).size();
  std::vector<Elements> results(static_cast<std::size_t>(body.output_size()));
  for (std::size_t i = 0; i < length; ++i) {
    Elements inputs;
    for (std::size_t k = 0; k < n.input_count(); ++k) {
      const ImportedValue& value = n.any_input(k);
      if (value.kind == ImportedValue::Kind::sequence && value.sequence.size() != length) {
        throw FormatError(
            fmt::format("the sequences have {} and {} elements", length, value.sequence.size()));
      }
      inputs.push_back(value.kind == ImportedValue::Kind::sequence ? value.sequence[i] : value);
    }
    const Elements outputs = n.import().body(body, inputs, "the body of SequenceMap");
    for (std::size_t k = 0; k < outputs.size(); ++k) results[k].push_back(outputs[k]);
  }
  Elements sequences;
  for (Elements& elements : results)
    sequences.push_back(ImportedValue::sequence_of(std::move(elements)));
  return sequences;
}

Elements optional_value(NodeImport& n) {
  n.skip_attribute("type");
  return {n.has(0) ? n.any_input(0) : ImportedValue::none()};
}

Elements optional_has_element(NodeImport& n) {
  const bool has = n.has(0) && n.any_input(0).kind != ImportedValue::Kind::none;
  return {n.graph().constant(Tensor::scalar(DType::boolean, has ? 1 : 0))};
}

Elements optional_get_element(NodeImport& n) {
  const ImportedValue& value = n.any_input(0);
  if (value.kind == ImportedValue::Kind::none) throw FormatError("the optional value is empty");
  return {value};
}

constexpr Operator kSequence[] = {{"ConcatFromSequence", 11, concat_from_sequence},
                                  {"Optional", 15, optional_value},
                                  {"OptionalGetElement", 15, optional_get_element},
                                  {"OptionalHasElement", 15, optional_has_element},
                                  {"SequenceAt", 11, sequence_at},
                                  {"SequenceConstruct", 11, sequence_construct},
                                  {"SequenceEmpty", 11, sequence_empty},
                                  {"SequenceErase", 11, sequence_erase},
                                  {"SequenceInsert", 11, sequence_insert},
                                  {"SequenceLength", 11, sequence_length},
                                  {"SequenceMap", 17, sequence_map},
                                  {"SplitToSequence", 11, split_to_sequence}};

}  // namespace

std::span<const Operator> sequence_operators() { return kSequence; }

}  // namespace weft::onnx
