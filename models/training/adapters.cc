#include "weft/models/training/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/fields/read_json.h"
#include "weft/models/training/lora_file.h"
#include "weft/models/training/model.h"
#include "weft/models/training/pretrained.h"

namespace weft {
namespace {

using nlohmann::json;

// Keys of options that the first versions did not have.
constexpr const char *kRankStabilised = "rank_stabilised", *kShapes = "matrices",
                     *kLookups = "lookups", *kBaseModel = "base_model";

json shapes_json(const LoraShapes& shapes) {
  json object = json::object();
  for (const auto& [name, shape] : shapes)
    object[name] = {{"rank", shape.rank}, {"alpha", shape.alpha}};
  return object;
}

LoraShapes parse_shapes(const json& value, const char* key) {
  LoraShapes shapes;
  if (!value.is_object())
    throw FormatError(fmt::format("the adapter options: '{}' must be an object", key));
  for (const auto& [name, entry] : value.items()) {
    if (!entry.is_object() || entry.size() != 2 || !entry.contains("rank") ||
        !entry.contains("alpha")) {
      throw FormatError(
          fmt::format("the adapter options: '{}' must contain a rank and an alpha for {}, not {}",
                      key, name, json_excerpt(entry)));
    }
    LoraShape shape;
    read_json(entry["rank"], "rank", shape.rank);
    read_json(entry["alpha"], "alpha", shape.alpha);
    shapes.emplace(name, shape);
  }
  return shapes;
}

/// Replaces the graph, the programs and the store of `model` by adapted ones.
void put_adapted(TrainedModel& model, AdaptedModel adapted, const LoraOptions& options,
                 const std::vector<std::string>& fresh) {
  model.replace_programs(adapted.graph, adapted.programs);
  model.store = std::move(adapted.store);
  model.lora = options;
  model.store->allow_initialisation(fresh);
  for (const Variable& variable : model.graph->variables()) {
    if (variable.info().kind == VariableKind::parameter &&
        std::find(fresh.begin(), fresh.end(), variable.name()) != fresh.end())
      model.graph->set_trainable(variable, true);
  }
}

}  // namespace

bool is_adapter_variable(std::string_view name) {
  constexpr std::array<std::string_view, 4> kEndings = {".lora_a", ".lora_b", ".lora_embedding_a",
                                                        ".lora_embedding_b"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

const FieldList<LoraOptions>& lora_fields() {
  static const auto list =
      FieldList<LoraOptions>("the adapter options")
          .add("rank", &LoraOptions::rank, "adapter rank")
          .add("alpha", &LoraOptions::alpha,
               "scale factor: the adapter output is multiplied by alpha / rank")
          .add("dropout", &LoraOptions::dropout, "dropout rate on the adapter inputs");
  return list;
}

std::string lora_json(const LoraOptions& options) {
  const std::string common = lora_fields().to_json(options);
  if (!options.rank_stabilised && options.shapes.empty() && options.lookups.empty() &&
      options.base_model.empty())
    return common;
  json object = json::parse(common);
  if (options.rank_stabilised) object[kRankStabilised] = true;
  if (!options.shapes.empty()) object[kShapes] = shapes_json(options.shapes);
  if (!options.lookups.empty()) object[kLookups] = shapes_json(options.lookups);
  if (!options.base_model.empty()) object[kBaseModel] = options.base_model;
  return object.dump();
}

LoraOptions parse_lora(std::string_view text) {
  json object = parse_json_object(text, "the adapter options");
  LoraOptions further;
  const auto take = [&](const char* key, const auto& use) {
    if (!object.contains(key)) return;
    use(object[key]);
    object.erase(key);
  };
  take(kRankStabilised,
       [&](const json& value) { read_json(value, kRankStabilised, further.rank_stabilised); });
  take(kShapes, [&](const json& value) { further.shapes = parse_shapes(value, kShapes); });
  take(kLookups, [&](const json& value) { further.lookups = parse_shapes(value, kLookups); });
  take(kBaseModel, [&](const json& value) { read_json(value, kBaseModel, further.base_model); });
  LoraOptions options = lora_fields().from_json(object.dump());
  options.rank_stabilised = further.rank_stabilised;
  options.shapes = std::move(further.shapes);
  options.lookups = std::move(further.lookups);
  options.base_model = std::move(further.base_model);
  return options;
}

void add_adapters(TrainedModel& model, const LoraOptions& options,
                  const std::vector<std::string>& fresh) {
  put_adapted(model, add_lora(model.all_programs(), *model.store, options), options, fresh);
}

void add_adapters(TrainedModel& model, const TrainedAdapters& adapters,
                  const std::vector<std::string>& fresh) {
  if (model.lora) {
    throw ArgumentError(
        "the model already has adapters: merge them into its weights first (weft merge)");
  }
  put_adapted(model, add_lora(model.all_programs(), *model.store, adapters), adapters.options,
              fresh);
}

void share_adapters(const TrainedModel& from, TrainedModel& to) {
  const LoraAdapters values = lora_adapters(from);
  std::set<std::string, std::less<>> matrices;
  for (const WeightMatrix& matrix :
       weight_matrices(*to.graph, to.all_programs(), {.embeddings = true, .quantized = true}))
    matrices.insert(matrix.name);
  TrainedAdapters shared;
  shared.options = *from.lora;
  shared.values.scale = values.scale;
  for (const auto& [name, adapter] : values.adapters) {
    if (matrices.contains(name)) shared.values.adapters.emplace(name, adapter);
  }
  std::erase_if(shared.options.lookups,
                [&](const auto& lookup) { return !matrices.contains(lookup.first); });
  for (const auto& [name, shape] : shared.options.lookups)
    shared.values.lookups.emplace(name, values.lookups.at(name));
  if (!shared.values.adapters.empty() || !shared.options.lookups.empty()) add_adapters(to, shared);
}

void share_weights(const TrainedModel& from, TrainedModel& to) {
  to.store = from.store;
  QuantizedWeights quantized;
  for (const auto& [name, weight] : quantized_weights(*from.graph)) {
    if (to.graph->has_variable(name)) quantized.emplace(name, weight);
  }
  const CacheFormat caches = cache_format(*from.graph);
  if (!quantized.empty() || caches != CacheFormat::f32) {
    const RewrittenPrograms rewritten = with_quantized(to.all_programs(), quantized, caches);
    to.replace_programs(rewritten.graph, rewritten.programs);
  }
  if (from.lora) share_adapters(from, to);
}

std::vector<std::string> quantized_patterns(const TrainedModel& model,
                                            const std::vector<std::string>& patterns) {
  if (!model.lora) return patterns;
  std::vector<WeightMatrix> matrices =
      weight_matrices(*model.graph, model.all_programs(), {.embeddings = true});
  std::erase_if(matrices,
                [](const WeightMatrix& matrix) { return is_adapter_variable(matrix.name); });
  std::vector<std::string> names;
  for (const WeightMatrix& matrix :
       select_matrices(matrices, patterns, "matrix that can be converted"))
    names.push_back(matrix.name);
  return names;
}

void keep_quantized(TrainedModel& model, const Pretrained& from,
                    const std::vector<std::string>& reinit) {
  QuantizedWeights kept;
  for (const auto& [name, weight] : from.quantized) {
    if (!model.graph->has_variable(name)) continue;
    const std::string& own = model.graph->find_variable(name).name();  // `name` may be an alias
    if (!matches_any(reinit, own)) kept.emplace(own, weight);
  }
  if (kept.empty()) return;
  try {
    RewrittenPrograms rewritten = with_quantized(model.all_programs(), kept, from.caches);
    model.replace_programs(rewritten.graph, rewritten.programs);
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("{} does not fit the model: {}", from.source, e.what()));
  }
}

LoraAdapters lora_adapters(const TrainedModel& model) {
  if (!model.lora) throw ArgumentError("the model has no adapters");
  constexpr std::string_view kEnd = ".lora_a";
  std::vector<std::string> matrices;
  for (const Variable& parameter : model.graph->parameters()) {
    const std::string& name = parameter.name();
    if (name.ends_with(kEnd)) matrices.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  LoraAdapters adapters = lora_adapters(matrices, *model.store, *model.lora);
  for (const auto& [name, weight] : quantized_weights(*model.graph)) {
    if (adapters.adapters.contains(name) || adapters.lookups.contains(name))
      adapters.quantized[name] = weight.format;
  }
  adapters.base = adapters_base(adapters, *model.store);
  return adapters;
}

}  // namespace weft
