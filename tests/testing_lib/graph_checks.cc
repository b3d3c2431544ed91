#include "weft/testing/graph_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "weft/graph/plan/control_plan.h"
#include "weft/graph/text/text.h"
#include "weft/ops/fusion/tile_program.h"

namespace weft::testing {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Returns a diff based on the longest common subsequence of lines. "- " marks expected lines and "+
// " marks actual lines; each change has two lines of context.
std::string line_diff(const std::vector<std::string>& expected,
                      const std::vector<std::string>& got) {
  const std::size_t n = expected.size(), m = got.size();
  std::vector<std::vector<int>> common(n + 1, std::vector<int>(m + 1, 0));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      common[i][j] = expected[i] == got[j] ? common[i + 1][j + 1] + 1
                                           : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> all;
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && expected[i] == got[j]) {
      all.push_back("  " + got[j]);
      ++i, ++j;
    } else if (j == m || (i < n && common[i + 1][j] >= common[i][j + 1])) {
      all.push_back("- " + expected[i++]);
    } else {
      all.push_back("+ " + got[j++]);
    }
  }
  constexpr std::ptrdiff_t kContextLines = 2;
  std::string text;
  bool skipped = false;
  for (std::ptrdiff_t i = 0; i < std::ssize(all); ++i) {
    const auto begin = all.begin() + std::max<std::ptrdiff_t>(i - kContextLines, 0);
    const auto end = all.begin() + std::min<std::ptrdiff_t>(i + kContextLines + 1, std::ssize(all));
    if (std::any_of(begin, end, [](const std::string& line) { return line[0] != ' '; })) {
      text += "\n" + all[static_cast<std::size_t>(i)];
      skipped = false;
    } else if (!skipped) {
      text += "\n  ...";
      skipped = true;
    }
  }
  return text;
}

// Returns the name of a step without the model location, which reports append.
std::string kind_of(const Plan& plan, StepId step) {
  std::string name = plan.step_name(step);
  const std::size_t place = std::min(name.find(" ("), name.find(" '"));
  return name.substr(0, place);
}

// Returns a list such as "3 x exp, 1 x matmul+add".
std::string list_of_steps(const Plan& plan) {
  std::map<std::string, int> kinds;
  for (const StepId s : plan.steps.ids()) ++kinds[kind_of(plan, s)];
  std::string list;
  for (const auto& [kind, number] : kinds) {
    list += fmt::format("{}{} x {}", list.empty() ? "" : ", ", number, kind);
  }
  return list;
}

bool runs(const Node& node, std::string_view op) {
  const Attribute* program = node.attributes().find("program");
  if (program == nullptr) return node.op().name == op;
  const TileProgram steps =
      TileProgram::parse(std::get<std::string>(*program), &node.graph().ops());
  return std::any_of(steps.steps.begin(), steps.steps.end(),
                     [&](const TileStep& step) { return step.op->name == op; });
}

// Lists the steps that run `op`, including those in the bodies of loops and branches, with their
// source lines.
std::string locations_of(const Plan& plan, std::string_view op) {
  std::string list;
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    if (step.node == nullptr) continue;
    if (runs(*step.node, op)) {
      list += fmt::format("\n  {}, {}", plan.step_name(s), step.node->graph().where(*step.node));
    }
    if (step.control == nullptr) continue;
    for (const BodyPlan& body : step.control->bodies) list += locations_of(*body.plan, op);
  }
  return list;
}

bool matches(const std::string& kind, std::string_view name) {
  return name.ends_with('*') ? kind.starts_with(name.substr(0, name.size() - 1)) : kind == name;
}

}  // namespace

Outcome expect_graph(const Program& program, std::string_view text) {
  TextConstants constants;
  const std::string got = to_text(program, {.constants = &constants});
  ParseOptions options{.file = "the expected graph", .constants = &constants};
  if (program.graph() != nullptr) options.ops = program.graph()->shared_ops();
  const Module expected = parse_text(text, options);
  const std::string other = to_text(expected.program, {.constants = &constants});
  if (got == other) return Outcome::pass();
  return Outcome::fail("the graph differs (-: expected, +: actual)" +
                       line_diff(lines_of(other), lines_of(got)));
}

std::int64_t count_ops(const Program& program, std::string_view op) {
  const std::vector<Node*> nodes = program.nodes();
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const Node* n) { return n->op().name == op; });
}

std::int64_t count_steps(const Plan& plan, std::string_view name) {
  std::int64_t count = 0;
  for (const StepId s : plan.steps.ids()) count += matches(kind_of(plan, s), name);
  return count;
}

Outcome expect_steps(const Plan& plan, std::string_view name, std::int64_t count) {
  const std::int64_t actual = count_steps(plan, name);
  if (actual == count) return Outcome::pass();
  return Outcome::fail(
      fmt::format("the plan of '{}' has {} steps '{}', expected {}\n  all steps: {}",
                  plan.program->name, actual, name, count, list_of_steps(plan)));
}

Outcome expect_steps_within(const Plan& plan, std::int64_t count) {
  const auto actual = static_cast<std::int64_t>(plan.steps.size());
  if (actual <= count) return Outcome::pass();
  return Outcome::fail(
      fmt::format("the plan of '{}' has {} steps, expected at most {}\n  all steps: {}",
                  plan.program->name, actual, count, list_of_steps(plan)));
}

Outcome expect_no_op(const Plan& plan, std::string_view op) {
  const std::string places = locations_of(plan, op);
  if (places.empty()) return Outcome::pass();
  return Outcome::fail(fmt::format("the plan of '{}' runs {}:{}", plan.program->name, op, places));
}

Outcome expect_no_value_above(const Plan& plan, std::size_t bytes) {
  std::string list;
  for (const StepId s : plan.steps.ids()) {
    for (const ValueId v : plan.steps[s].outputs) {
      if (!v.defined() || plan.values[v].bytes <= bytes) continue;
      const Node* node = plan.steps[s].node;
      list += fmt::format("\n  {}{} with {} bytes: {}{}", dtype_name(plan.values[v].dtype),
                          to_string(plan.values[v].sizes), plan.values[v].bytes, plan.step_name(s),
                          node == nullptr ? "" : ", " + node->graph().where(*node));
    }
  }
  if (list.empty()) return Outcome::pass();
  return Outcome::fail(fmt::format("these values are larger than {} bytes:{}", bytes, list));
}

Outcome expect_arena_within(const Plan& plan, std::size_t bytes) {
  if (plan.arena_bytes <= bytes) return Outcome::pass();
  return Outcome::fail(fmt::format("the arena of '{}' has {} bytes, expected at most {}\n{}",
                                   plan.program->name, plan.arena_bytes, bytes,
                                   plan.memory().text(8)));
}

Outcome expect_flops_within(const Plan& plan, double flops) {
  const CostReport cost = plan.cost();
  if (cost.flops <= flops) return Outcome::pass();
  return Outcome::fail(fmt::format("'{}' takes {:g} FLOPs, expected at most {:g}\n{}",
                                   plan.program->name, cost.flops, flops, cost.text(8)));
}

}  // namespace weft::testing
