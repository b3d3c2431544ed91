#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/core/error.h"
#include "weft/graph/functions/linalg/einsum.h"

namespace weft::einsum_detail {
namespace {

constexpr int kEllipsis = -1;  // placeholder for "..." until its number of axes is known

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Parses the labels of one operand: letters and kEllipsis.
Labels parse_term(std::string_view equation, std::size_t begin, std::size_t end) {
  Labels labels;
  for (std::size_t i = begin; i < end; ++i) {
    const char c = equation[i];
    if (c == ' ') continue;
    if (is_letter(c)) {
      labels.push_back(c);
    } else if (c == '.' && equation.substr(i, std::min<std::size_t>(3, end - i)) == "...") {
      if (std::count(labels.begin(), labels.end(), kEllipsis) > 0) {
        throw ArgumentError(fmt::format("equation \"{}\" has two \"...\" in one term", equation));
      }
      labels.push_back(kEllipsis);
      i += 2;
    } else {
      throw ArgumentError(fmt::format(
          "equation \"{}\" has an illegal '{}' at position {}; subscripts are letters and "
          "\"...\"",
          equation, c, i));
    }
  }
  return labels;
}

// Replaces kEllipsis with `axes` labels; the rightmost label is ellipsis_label(0).
Labels expand(const Labels& labels, int axes) {
  Labels result;
  for (const int label : labels) {
    if (label != kEllipsis) {
      result.push_back(label);
      continue;
    }
    for (int i = axes - 1; i >= 0; --i) result.push_back(ellipsis_label(i));
  }
  return result;
}

void check_output(std::string_view equation, const Labels& output,
                  const std::vector<Labels>& operands) {
  for (const int label : output) {
    if (std::count(output.begin(), output.end(), label) > 1) {
      throw ArgumentError(fmt::format("equation \"{}\" has label {} twice in its output", equation,
                                      label_name(label)));
    }
    const bool known = std::any_of(operands.begin(), operands.end(), [&](const Labels& o) {
      return std::find(o.begin(), o.end(), label) != o.end();
    });
    if (!known && label < ellipsis_label(0)) {
      throw ArgumentError(
          fmt::format("equation \"{}\" has label {} in its output but not in any operand", equation,
                      label_name(label)));
    }
  }
}

}  // namespace

std::string label_name(int label) {
  if (label < ellipsis_label(0)) return std::string(1, static_cast<char>(label));
  return fmt::format("axis {} of ...", ellipsis_label(0) - label - 1);
}

Subscripts parse_equation(std::string_view equation, const std::vector<Shape>& shapes) {
  const std::size_t arrow = equation.find("->");
  const std::size_t inputs_end = std::min(arrow, equation.size());
  std::vector<Labels> terms;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(equation.find(',', begin), inputs_end);
    terms.push_back(parse_term(equation, begin, end));
    if (end == inputs_end) break;
    begin = end + 1;
  }
  if (terms.size() != shapes.size()) {
    throw ArgumentError(
        fmt::format("equation \"{}\" has subscripts for {} operands, but {} operands were passed",
                    equation, terms.size(), shapes.size()));
  }

  Subscripts result;
  int ellipsis_axes = 0;
  std::map<int, int> count;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool ellipsis = std::count(terms[i].begin(), terms[i].end(), kEllipsis) > 0;
    const int letters = static_cast<int>(terms[i].size()) - (ellipsis ? 1 : 0);
    const int rest = shapes[i].rank() - letters;
    if (rest < 0 || (rest > 0 && !ellipsis)) {
      throw ShapeError(
          fmt::format("equation \"{}\" requires operand {} to have {}{} axes, but it has shape {}",
                      equation, i, ellipsis ? "at least " : "", letters, shapes[i].str()));
    }
    ellipsis_axes = std::max(ellipsis_axes, rest);
    result.operands.push_back(expand(terms[i], rest));
    for (const int label : terms[i]) ++count[label];
  }
  if (arrow != std::string_view::npos) {
    result.output = expand(parse_term(equation, arrow + 2, equation.size()), ellipsis_axes);
  } else {
    result.output = expand({kEllipsis}, ellipsis_axes);
    for (const auto& [label, times] : count) {
      if (label != kEllipsis && times == 1) result.output.push_back(label);
    }
  }
  check_output(equation, result.output, result.operands);
  return result;
}

}  // namespace weft::einsum_detail
