#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {
namespace {

namespace fs = std::filesystem;

/// A command without its outputs, and the options that name an output, with file extensions.
struct TracedCommand {
  Arguments arguments;
  std::vector<std::pair<std::string, std::string>> outputs;
};

std::vector<TracedCommand> traced_commands(const Workspace& w) {
  const std::string gpt = w.path("gpt.weft"), gpt2 = w.path("gpt2-default");
  const std::vector<std::pair<std::string, std::string>> model = {{"--out", ".weft"}};
  std::vector<TracedCommand> result = {
      {{"quantize", gpt}, model},
      {{"quantize", gpt, "--text", w.path("text.txt")}, model},
      {{"merge", gpt, "--adapters", w.path("lora.lora.safetensors")}, model},
      {{"convert", gpt, "--inference"}, model},
      {{"run", gpt2, "--inputs", w.path("gpt2-default/inputs.safetensors")},
       {{"--outputs", ".safetensors"}}},
      {{"tokenizer", "train", w.path("text.txt"), "--vocab", "280"}, {{"--out", ".json"}}}};
  for (const Task& task : w.tasks())
    result.push_back(
        {task.arguments, {{"--out", ".weft"}, {"--best", ".weft"}, {"--log", ".jsonl"}}});
  return result;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the files of the workspace that the command opens for reading.
std::vector<std::string> files_read(const Workspace& w, const Budget& budget,
                                    const Arguments& arguments) {
  const std::string trace = w.path("reads");
  fs::remove(trace);
  w.program()(arguments, {.environment = {{"LD_PRELOAD", budget.shim},
                                          {"WEFT_READS", trace},
                                          {"WEFT_READS_PATH", w.path("")}}});
  std::vector<std::string> found;
  std::ifstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const bool own = line.starts_with(w.path("inputs/")) || line.ends_with("/stdout") ||
                     line.ends_with("/stderr");
    if (!own && fs::is_regular_file(line)) found.push_back(line);
  }
  return found;
}

}  // namespace

void attack_inputs(const Workspace& w, const Budget& budget, Report& report) {
  if (budget.shim.empty() || budget.sanitized) return;
  Random random(budget.seed);
  const Clock clock(budget.seconds);
  const std::vector<TracedCommand> all = traced_commands(w);
  while (!clock.over()) {
    const TracedCommand& command = all[random_up_to(random, all.size() - 1)];
    fs::remove_all(w.path("inputs"));
    fs::create_directories(w.path("inputs"));
    const auto [first, usual] = command.outputs.front();
    Arguments arguments = command.arguments;
    arguments.insert(arguments.end(), {first, w.path("inputs/new" + usual)});
    const std::vector<std::string> read = files_read(w, budget, arguments);
    report.count_run();
    if (read.empty()) continue;
    const std::string& input = read[random_up_to(random, read.size() - 1)];
    const auto& [option, ending] =
        command.outputs[random_up_to(random, command.outputs.size() - 1)];
    const std::string victim = w.path("inputs/victim" + ending);
    if (random_up_to(random, 1) == 0) {
      fs::create_hard_link(input, victim);
    } else {
      fs::create_symlink(input, victim);
    }
    arguments = command.arguments;
    if (option != first) arguments.insert(arguments.end(), {first, w.path("inputs/other.weft")});
    arguments.insert(arguments.end(), {option, victim, "--force"});
    const std::string before = bytes_of(input);
    const Outcome outcome = w.program()(arguments);
    report.count_run();
    const std::string what = find_violation(outcome);
    if (!what.empty()) {
      report.add_finding("an input as an output: " + what, arguments, outcome);
    } else if (outcome.code == 0 || bytes_of(input) != before || bytes_of(victim) != before) {
      report.add_finding(fmt::format("the input {} may be replaced", input), arguments, outcome);
    }
  }
}

}  // namespace weft::attack
