#include "weft/tests/random_programs/case.h"

#include <algorithm>
#include <sstream>

#include "weft/core/error.h"
#include "weft/graph/text/text.h"

namespace weft::testing {
namespace {

constexpr char kSeparator[] = "====\n";
constexpr char kDim[] = "dim ";

std::string tensors_text(const std::string& name, const NamedTensors& tensors) {
  Graph graph;
  Program program(name);
  // Constants may be equal, but output names are unique.
  for (const auto& [key, tensor] : tensors) program.output(key, graph.constant(tensor));
  if (tensors.empty()) program.output("none", graph.scalar(DType::f32, 0));
  return to_text(program, {.inline_elements = std::int64_t{1} << 40});
}

NamedTensors parse_tensors(const std::string& text, const std::string& file) {
  const Module module = parse_text(text, {.file = file});
  NamedTensors tensors;
  for (const auto& [name, value] : module.program.outputs()) {
    if (name != "none") tensors.emplace_back(name, value.node().attributes().tensor("value"));
  }
  return tensors;
}

}  // namespace

Case Case::clone() const { return {clone_program(module.program), variables, runs}; }

void Case::tidy() {
  const Program& program = module.program;
  const auto inputs = program.inputs();
  const auto used = program.variables();
  std::erase_if(variables, [&](const auto& entry) {
    return std::none_of(used.begin(), used.end(),
                        [&](const Variable& v) { return v.name() == entry.first; });
  });
  for (CaseRun& run : runs) {
    std::erase_if(run.feeds, [&](const auto& entry) {
      return std::none_of(inputs.begin(), inputs.end(), [&](const Value& v) {
        return v.node().attributes().text("name") == entry.first;
      });
    });
    std::erase_if(run.dims, [&](const auto& entry) {
      const auto& symbols = module.graph->symbols();
      return std::none_of(symbols.begin(), symbols.end(),
                          [&](const SymbolPtr& s) { return s->name == entry.first; });
    });
  }
}

std::vector<GradientClaim> gradient_claims(const Program& program) {
  std::vector<GradientClaim> claims;
  for (const auto& [name, value] : program.outputs()) {
    std::istringstream words(name);
    std::string first;
    GradientClaim claim{name, {}, {}};
    if (words >> first >> claim.loss >> claim.wrt && first == "grad") claims.push_back(claim);
  }
  return claims;
}

std::string case_text(const Case& c, const std::string& comment) {
  std::string text;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) text += "// " + line + "\n";
  text += to_text(c.module.program, {.inline_elements = std::int64_t{1} << 40});
  text += kSeparator + tensors_text("variables", c.variables);
  for (const CaseRun& run : c.runs) {
    NamedTensors tensors = run.feeds;
    for (const auto& [name, size] : run.dims)
      tensors.emplace_back(kDim + name, Tensor::scalar(DType::i64, static_cast<double>(size)));
    text += kSeparator + tensors_text("run", tensors);
  }
  return text;
}

Case parse_case(const std::string& text, const std::string& file) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(kSeparator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + sizeof(kSeparator) - 1;
  }
  if (parts.size() < 2)
    throw FormatError(file + ": a case must have a program, variables and runs");
  Case c{parse_text(parts[0], {.file = file}), parse_tensors(parts[1], file), {}};
  for (std::size_t i = 2; i < parts.size(); ++i) {
    CaseRun run;
    for (auto& [name, tensor] : parse_tensors(parts[i], file)) {
      if (name.starts_with(kDim)) {
        run.dims.emplace_back(name.substr(sizeof(kDim) - 1), tensor.item<std::int64_t>());
      } else {
        run.feeds.emplace_back(name, tensor);
      }
    }
    c.runs.push_back(std::move(run));
  }
  return c;
}

}  // namespace weft::testing
