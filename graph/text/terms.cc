#include "weft/graph/text/terms.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "weft/graph/ir/draws.h"
#include "weft/graph/text/literal.h"

namespace weft {

void Terms::rethrow_at(std::size_t position, const Error& error) const {
  std::string message = error.what();
  // Remove the source location that the graph appended, because it repeats the position in the
  // text.
  if (const std::size_t end = message.rfind("\n  at "); end != std::string::npos) {
    message.resize(end);
  }
  scan_.fail_at(position, message);
}

template <class F>
void Terms::each(F&& element) {
  scan_.expect("[");
  if (scan_.take("]")) return;
  do {
    element();
  } while (scan_.take(","));
  scan_.expect("]");
}

ValueType Terms::type(Graph& g) {
  const DType d = dtype();
  return {d, shape(g)};
}
DType Terms::dtype() {
  const std::size_t at = scan_.position();
  const std::string_view word = scan_.word("a dtype");
  return guard(at, [&] { return parse_dtype(word); });
}
Shape Terms::shape(Graph& g) {
  Shape result;
  each([&] { result.push_back(dim(g, ",]")); });
  return result;
}
Dim Terms::dim(Graph& g, std::string_view stops) {
  const std::size_t at = scan_.position();
  const std::string_view text = scan_.expression(stops);
  try {
    return Dim::parse(text, [&](std::string_view name) {
      if (SymbolPtr known = g.find_symbol(name)) return known;
      throw FormatError(
          fmt::format("dim \"{}\" is not declared; write \"dim {}\" first", name, name));
    });
  } catch (const Error& e) {
    scan_.fail_at(at, e.what());
  }
}

double Terms::real() {
  const std::size_t at = scan_.position();
  const std::string_view text = scan_.number("a number");
  const std::optional<double> value = parse_float(text);
  if (!value) scan_.fail_at(at, fmt::format("expected a number, found {}", quote(text)));
  return *value;
}
std::int64_t Terms::whole(std::int64_t low, std::int64_t high) {
  const std::size_t at = scan_.position();
  const std::string_view text = scan_.number("a whole number");
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value || *value < low || *value > high) {
    scan_.fail_at(
        at, fmt::format("expected an integer from {} to {}, found {}", low, high, quote(text)));
  }
  return *value;
}

bool Terms::at_tensor() {
  const std::size_t at = scan_.position();
  const char first = scan_.peek();
  bool found = false;
  if (first >= 'a' && first <= 'z') {
    scan_.word("a dtype");
    found = scan_.peek() == '[';
  }
  scan_.back_to(at);
  return found;
}

Tensor Terms::named_constant(const ValueType& type, const Sizes& sizes) {
  const std::size_t name_at = scan_.position();
  const std::string name = scan_.name("the name of a constant");
  const Tensor* found = nullptr;
  if (options_.constants != nullptr) {
    const auto it = options_.constants->find(name);
    if (it != options_.constants->end()) found = &it->second;
  }
  if (found == nullptr) {
    scan_.fail_at(name_at, fmt::format("constant {} is not in ParseOptions::constants", name));
  }
  if (found->dtype() != type.dtype || found->sizes() != sizes) {
    scan_.fail_at(name_at, fmt::format("constant {} is {}, but the text declares {}", name,
                                       found->type_str(), type.str()));
  }
  return *found;
}

Tensor Terms::tensor(Graph& g) {
  const std::size_t at = scan_.position();
  const ValueType t = type(g);
  if (!t.shape.is_constant()) scan_.fail_at(at, "the sizes of a constant must be numbers");
  const Sizes sizes = t.shape.constant();
  const std::int64_t count = guard(at, [&] { return num_elements(sizes); });
  if (scan_.take_word("constant")) return named_constant(t, sizes);
  std::vector<std::pair<std::size_t, std::string_view>> elements;
  scan_.expect("{");
  if (!scan_.take("}")) {
    do {
      const std::size_t element_at = scan_.position();
      elements.emplace_back(element_at, scan_.number("an element"));
    } while (scan_.take(","));
    scan_.expect("}");
  }
  if (static_cast<std::int64_t>(elements.size()) != count) {
    scan_.fail_at(
        at, fmt::format("{} has {} elements, but {} were given", t.str(), count, elements.size()));
  }
  Tensor result = Tensor::empty(t.dtype, sizes);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!parse_element(elements[i].second, result, static_cast<std::int64_t>(i))) {
      scan_.fail_at(elements[i].first, fmt::format("{} is not a value of dtype {}",
                                                   quote(elements[i].second), dtype_name(t.dtype)));
    }
  }
  return result;
}

Attribute Terms::attribute(Graph& g, const Attribute& like, const OpRecord& op,
                           std::string_view name) {
  if (std::holds_alternative<bool>(like)) {
    if (scan_.take_word("true")) return true;
    if (!scan_.take_word("false")) scan_.expected("true or false");
    return false;
  }
  if (std::holds_alternative<std::int64_t>(like)) {
    // Streams are 32-bit counters. Sampling would silently truncate a larger number.
    return is_stream(op, name) ? whole(0, kMaxStream)
                               : whole(std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max());
  }
  if (std::holds_alternative<double>(like)) return real();
  if (std::holds_alternative<std::string>(like)) return scan_.quoted("a string in quotes");
  if (std::holds_alternative<DType>(like)) return dtype();
  if (std::holds_alternative<std::vector<std::int64_t>>(like)) {
    std::vector<std::int64_t> list;
    each([&] {
      list.push_back(whole(std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max()));
    });
    return list;
  }
  if (std::holds_alternative<std::vector<double>>(like)) {
    std::vector<double> list;
    each([&] { list.push_back(real()); });
    return list;
  }
  if (std::holds_alternative<Dim>(like)) return dim(g, ",}");
  if (std::holds_alternative<Shape>(like)) return shape(g);
  return tensor(g);
}

}  // namespace weft
