#include "weft/tests/random_programs/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/text/text.h"
#include "weft/tests/random_programs/examination.h"

namespace weft::testing {

std::optional<Failure> Examination::run() {
  if (wanted("verify")) guarded("verify", [&] { verify_program(c_.module.program); });
  if (wanted("text") || wanted("from text")) guarded("text", [&] { check_text(); });
  guarded("base", [&] { run_base(); });
  // All bitwise comparisons depend on this check, because it detects passes that change the order
  // of a sum.
  if (!only_.starts_with("node")) guarded("optimised", [&] { check_passes(); });
  if (!failure_) run_variants();
  if (wanted("file")) guarded("file", [&] { check_file(); });
  if (wanted("static")) guarded("static", [&] { check_static(); });
  if (wanted("gradient")) guarded("gradient", [&] { check_gradients(); });
  if (wanted("draws")) guarded("draws", [&] { check_draws(); });
  return failure_;
}

void Examination::fail(std::string check, std::string message) {
  if (!failure_) failure_ = Failure{std::move(check), std::move(message)};
}

void Examination::guarded(const std::string& check, const std::function<void()>& body) {
  if (failure_) return;
  try {
    body();
  } catch (const std::exception& e) {
    fail(check + " throws", e.what());
  }
}

void Examination::check_text() {
  const std::string text = to_text(c_.module.program, {.inline_elements = std::int64_t{1} << 40});
  parsed_ = std::make_unique<Module>(parse_text(text));
  const std::string again = to_text(parsed_->program, {.inline_elements = std::int64_t{1} << 40});
  if (text != again) fail("text", "the text of the parsed program differs");
}

bool Examination::has_cache() const {
  const auto variables = c_.module.program.variables();
  return std::any_of(variables.begin(), variables.end(), [&](const Variable& v) {
    return c_.module.graph->variable_info(v.value().node()).kind == VariableKind::cache;
  });
}

/// Each node that draws must have its own random stream. Gradients repeat the random numbers of the
/// forward pass, so in a program with gradients only the nodes of the first loss are checked.
void Examination::check_draws() {
  std::vector<Value> roots = inlined_->program.roots();
  if (c_.module.program.name() == kDifferentiated) {
    roots.clear();
    for (const auto& [name, value] : inlined_->program.outputs()) {
      if (name == "loss") roots.push_back(value);
    }
  }
  std::set<std::pair<Node*, std::int64_t>> seen;
  for (Node* node : reachable_nodes(roots)) {
    if (!node->op().has(Trait::random)) continue;
    const Value key = node->input(static_cast<std::size_t>(node->op().input_index("key")));
    if (!key.defined()) continue;
    if (node->op().name != "dropout" && !node->op().name.starts_with("random_")) continue;
    if (!seen.insert({key.node_pointer(), node->attributes().integer("stream")}).second)
      fail("draws", fmt::format("two draws share stream {} of one key",
                                node->attributes().integer("stream")));
  }
}

std::optional<Failure> examine(const Case& c, std::uint64_t seed, Examined& examined,
                               const std::string& only) {
  return Examination(c, seed, examined, only).run();
}

}  // namespace weft::testing
