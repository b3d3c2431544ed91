#include "weft/models/training/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/models/training/adapters.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft {
namespace {

constexpr const char* kTaskPart = "model.task";
constexpr const char* kHistoryPart = "train.history";

/// Returns the parts that all models have in common. The task is not among them, because files
/// written by the first versions do not contain it.
const std::vector<FilePart>& common_parts() {
  static const std::vector<FilePart> parts = [] {
    std::vector<FilePart> all = {
        detail::make_part("train.settings", "weft.train.settings", &TrainedModel::settings)};
    // Inference-only models may have no history.
    all.push_back({kHistoryPart, false,
                   [](const TrainedModel& model) -> std::optional<Attachment> {
                     const TrainHistory& history = model.history;
                     if (!model.can_train() && history.train.empty() && history.validation.empty())
                       return std::nullopt;
                     return Attachment{kHistoryPart, "weft.train.history", history.to_json()};
                   },
                   [](TrainedModel& model, const Attachment& part) {
                     model.history = TrainHistory::from_json(part.bytes);
                   }});
    all.push_back(
        {kLoraPart, false,
         [](const TrainedModel& model) -> std::optional<Attachment> {
           if (!model.lora) return std::nullopt;
           return Attachment{kLoraPart, "weft.train.lora", lora_json(*model.lora)};
         },
         [](TrainedModel& model, const Attachment& part) { model.lora = parse_lora(part.bytes); }});
    all.push_back(detail::make_part(kOriginPart, "weft.origin", &TrainedModel::origin));
    return all;
  }();
  return parts;
}

/// Returns the program with this name or, in files written by the first versions, with its old
/// name. Returns null if the file contains neither.
const Program* program_in(const Checkpoint& file, const ModelLayout& layout,
                          const std::string& name) {
  if (file.has_program(name)) return &file.program(name);
  for (const auto& [before, now] : layout.renamed_programs) {
    if (now == name && file.has_program(before)) return &file.program(before);
  }
  return nullptr;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the programs of a model in file order.
std::vector<Program> programs_in_file(const TrainedModel& model) {
  const ModelLayout& layout = model.layout();
  std::vector<Program> programs;
  if (const Program* found = model.find_program("train")) programs.push_back(*found);
  for (const std::string& name : layout.programs) {
    if (model.has_program(name) || !contains(layout.added_programs, name))
      programs.push_back(model.program(name));
  }
  return programs;
}

}  // namespace

std::vector<Attachment> attachments_of(const TrainedModel& model) {
  std::vector<Attachment> attachments;
  if (!model.task.empty()) attachments.push_back({kTaskPart, "weft.task", model.task});
  for (const auto* parts : {&model.layout().parts, &common_parts()}) {
    for (const FilePart& part : *parts) {
      if (auto written = part.write(model)) attachments.push_back(*std::move(written));
    }
  }
  return attachments;
}

bool ModelLayout::can(Use use) const {
  return std::find(uses.begin(), uses.end(), use) != uses.end();
}

std::string ModelLayout::unsupported_use_message(Use use) const {
  std::vector<std::string> commands;
  for (const Use other : uses) commands.push_back(fmt::format("weft {}", choice_name(other)));
  return fmt::format("a {}, which {}; use it with {}", kind,
                     kUnsupportedUses[static_cast<std::size_t>(use)],
                     commands.empty() ? "weft train --from, which starts training from its weights"
                                      : list_names(commands));
}

std::string PartValue<std::vector<std::string>>::write(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump();
}

std::vector<std::string> PartValue<std::vector<std::string>>::read(const Attachment& part) {
  const auto parsed = parse_json(part.bytes, part.name);
  std::vector<std::string> names;
  if (parsed.is_array()) {
    for (const auto& name : parsed) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  if (names.empty() || names.size() != parsed.size())
    throw FormatError(fmt::format("the attachment '{}' is not a list of class names", part.name));
  return names;
}

const Program* TrainedModel::find_program(std::string_view name) const {
  const auto found = programs.find(name);
  return found == programs.end() ? nullptr : &found->second;
}

const Program& TrainedModel::program(std::string_view name) const {
  if (const Program* found = find_program(name)) return *found;
  std::vector<std::string> known;
  for (const auto& [other, program] : programs) known.push_back(other);
  throw ArgumentError(fmt::format("a {}: {}", layout().kind, unknown_name("program", name, known)));
}

Program& TrainedModel::add_program(const std::string& name) {
  return programs.insert_or_assign(name, Program(name)).first->second;
}

std::vector<Program> TrainedModel::all_programs() const {
  std::vector<Program> all;
  for (const auto& [name, program] : programs) all.push_back(program);
  return all;
}

void TrainedModel::replace_programs(std::shared_ptr<Graph> new_graph,
                                    const std::vector<Program>& rewritten) {
  std::size_t next = 0;
  for (auto& [name, program] : programs) program = rewritten.at(next++);
  graph = std::move(new_graph);
}

std::unique_ptr<TrainedModel> without_training(const TrainedModel& model) {
  auto result = model.clone();
  result->programs.erase("train");
  return result;
}

void save_model(const std::string& path, const TrainedModel& model) {
  save_checkpoint(path, *model.store, programs_in_file(model),
                  {.attachments = attachments_of(model)});
}

void save_model_in_shards(const std::string& path, const TrainedModel& model, Session& session) {
  save_checkpoint_in_shards(path, session, programs_in_file(model),
                            {.attachments = attachments_of(model)});
}

void read_model(const std::string& path, TrainedModel& model) {
  read_model(load_checkpoint(path, {.verify = true, .once = true}), path, model);
}

void read_model(const Checkpoint& file, const std::string& path, TrainedModel& model) {
  const ModelLayout& layout = model.layout();
  const auto fail = [&](const std::string& what) {
    return FormatError(fmt::format("{} holds no {}: {}", path, layout.kind, what));
  };
  const auto find = [&](const FilePart& part) {
    const Attachment* found = file.find_attachment(part.name);
    if (found == nullptr && part.required)
      throw fail(fmt::format("the attachment '{}' is missing (weft train writes it)", part.name));
    return found;
  };
  const Attachment& config = *find(layout.parts.front());
  // Without a type, the config may belong to several families.
  if (!layout.config_type.empty() && config.type != layout.config_type) {
    throw fail(
        fmt::format("the configuration type is '{}', not '{}'", config.type, layout.config_type));
  }
  for (const std::string& name : layout.programs) {
    if (const Program* found = program_in(file, layout, name)) {
      model.programs.insert_or_assign(name, *found);
    } else if (!contains(layout.added_programs, name)) {
      throw fail(fmt::format("the program '{}' is missing", name));
    }
  }
  if (file.has_program("train")) model.programs.insert_or_assign("train", file.program("train"));
  for (const auto* parts : {&layout.parts, &common_parts()}) {
    for (const FilePart& part : *parts) {
      if (const Attachment* found = find(part)) part.read(model, *found);
    }
  }
  try {
    model.check();
  } catch (const ArgumentError& e) {
    throw fail(e.what());
  }
  if (std::string task = task_of(file); !task.empty()) model.task = std::move(task);
  model.graph = file.shared_graph();
  model.store = file.store();
  if (!file.is_finite()) check_finite(*model.store, path);
}

std::string task_of(const Checkpoint& file) {
  if (const Attachment* task = file.find_attachment(kTaskPart)) return task->bytes;
  return {};
}

SessionOptions session_options(const TrainedModel& model, SessionOptions options) {
  if (const int plans = model.layout().plan_cache; plans > 0) options.plan_cache = plans;
  return options;
}

bool is_quantized(const Graph& graph) {
  const std::vector<Variable> variables = graph.variables();
  return std::any_of(variables.begin(), variables.end(), [](const Variable& variable) {
    return variable.info().kind == VariableKind::parameter &&
           variable.info().type.dtype != DType::f32;
  });
}

TrainHistory read_history(const std::string& path) {
  const Checkpoint file = load_checkpoint(path);
  const Attachment* found = file.find_attachment(kHistoryPart);
  return found == nullptr ? TrainHistory() : TrainHistory::from_json(found->bytes);
}

}  // namespace weft
