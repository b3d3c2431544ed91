#include "weft/models/hf/encoders/encoder_task.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/encoders/encoder_keys.h"
#include "weft/models/hf/sequence_labels.h"

namespace weft::hf {
namespace {

/// Builds a class of an encoder family.
class Task {
 public:
  Task(Request& request, const EncoderConfig& config, const EncoderStyle& style)
      : request_(request),
        style_(style),
        root_(Scope(request.graph).evaluation()),
        task_(request.task()),
        config_(config),
        encoder_(root_, config) {
    const std::string base = task_ == "Model" ? "" : style.base + ".";
    for (const auto& [ours, theirs] : style.embeddings)
      model_.names.add("embeddings." + ours, base + theirs);
    if (task_ == "ForQuestionAnswering") model_.names.add("span", style.span);
    for (const auto& [ours, theirs] : style.encoder) model_.names.add(ours, base + theirs);
    for (std::int64_t i = 0; i < config.distinct_layers(); ++i) {
      const std::string layer = fmt::format(fmt::runtime(base + style.layer),
                                            i / config.group_layers, i % config.group_layers);
      for (const auto& [ours, theirs] : style.layer_modules)
        model_.names.add(fmt::format("layers.{}.{}", i, ours), fmt::format("{}.{}", layer, theirs));
      for (FileLayout layout : style.layer_layouts) {
        layout.ours = fmt::format("layers.{}.{}", i, layout.ours);
        layout.theirs = fmt::format("{}.{}", layer, layout.theirs);
        model_.layouts.add(std::move(layout));
      }
    }
    model_.older_names = style.older_names;
    if (pretrains()) {
      for (const auto& [ours, theirs] : style.heads) model_.names.add(ours, theirs);
    }
    if (task_ == "ForSequenceClassification")
      model_.names.add("classifier", style.sequence_classifier);
    if (!style.pooler.name.empty() && uses_pooler() && !has_token_head())
      model_.names.add("pooler", base + style.pooler.name);
    if (task_ == "ForSequenceClassification" ? !uses_pooler() : has_token_head()) {
      model_.names.add("pooler", style.classifier_dense.name);
      if (!style.classifier_norm.empty()) model_.names.add("pooler.norm", style.classifier_norm);
    }
    model_.base_prefix = style.base + ".";
    model_.unused_buffers = {"embeddings.position_ids", "inv_freq", "classifier.*", "qa_outputs.*"};
    for (const auto& [ours, theirs] : style.heads) ignore_module(theirs);
    ignore_module(style.sequence_classifier);
    ignore_module(style.classifier_dense.name);
    ignore_module(style.classifier_norm);
    ignore_module(style.pooler.name);
    for (const std::string& pattern : style.unused) model_.unused_buffers.insert(pattern);
    model_.heads = {.masked_lm = style.masked_lm, .pooler = classifier_pooler().activation};
  }

  Model build() {
    model_.family = config_;
    read_inputs();
    EncoderOutputs outputs = encoder_(inputs_);
    h_ = outputs.last_hidden_state;
    if (style_.last_hidden_has_norm) outputs.hidden.back() = h_;
    model_.outputs["last_hidden_state"] = h_;
    put_hidden(model_, "hidden.", outputs.hidden);
    if (task_ == "Model") {
      if (!style_.pooler.name.empty()) model_.outputs["pooler_output"] = pooled(style_.pooler);
    } else if (task_ == "ForMaskedLM" ||
               (task_ == "ForPreTraining" && style_.pretrains_on_tokens)) {
      masked_lm();
    } else if (task_ == "ForPreTraining" && style_.replaced_tokens) {
      replaced_tokens();
    } else if (task_ == "ForPreTraining" && !style_.pair_logits.empty()) {
      pretraining();
    } else if (task_ == "ForNextSentencePrediction" && style_.has_next_sentence_class) {
      next_sentence();
    } else if (task_ == "ForSequenceClassification") {
      sequence_classification();
    } else if (task_ == "ForTokenClassification") {
      token_classification();
    } else if (task_ == "ForQuestionAnswering" && style_.answers_questions) {
      question_answering();
    } else {
      request_.unsupported_architecture();
    }
    return std::move(model_);
  }

 private:
  /// Accepts the tensors of a module, or a tensor, of another class in the file.
  void ignore_module(const std::string& name) {
    if (!name.empty()) model_.unused_buffers.insert({name, name + ".*"});
  }

  /// Returns the pooler for sequence classification. BERT and ALBERT use the pooler of the base
  /// model.
  const PoolerStyle& classifier_pooler() const {
    return style_.classifier_dense.name.empty() ? style_.pooler : style_.classifier_dense;
  }
  bool pretrains() const {
    return task_ == "ForMaskedLM" || task_ == "ForPreTraining" ||
           task_ == "ForNextSentencePrediction";
  }
  bool has_token_head() const {
    return config_.token_head &&
           (task_ == "ForTokenClassification" || task_ == "ForQuestionAnswering");
  }
  bool uses_pooler() const {
    return task_ != "ForSequenceClassification" || style_.classifier_dense.name.empty();
  }

  void read_inputs() {
    inputs_.ids = request_.required("input_ids", {"batch", "seq"});
    inputs_.attention_mask = request_.input("attention_mask", {"batch", "seq"});
    // Padding may be farther from the tokens than a window reaches.
    if (config_.window > 0) model_.valid_rows = inputs_.attention_mask;
    if (style_.takes_token_types)
      inputs_.token_type_ids = request_.input("token_type_ids", {"batch", "seq"});
    if (config_.task_types > 0)
      inputs_.task_type_ids = request_.input("task_type_ids", {"batch", "seq"});
    if (style_.masks_padding_ids && !inputs_.attention_mask.defined())
      inputs_.attention_mask = not_equal(inputs_.ids, config_.padding_id);
    inputs_.token_places = request_.input("token_places", {"tokens"});
    if (style_.takes_position_ids)
      inputs_.position_ids = request_.input("position_ids", {"batch", "seq"});
    if (config_.global_attention) read_global_attention();
  }

  /// Reads the mask of tokens with global attention. Classifiers of texts and classes that answer
  /// questions have a default.
  void read_global_attention() {
    Value& mask = inputs_.global_attention_mask;
    mask = request_.input("global_attention_mask", {"batch", "seq"});
    if (mask.defined()) return;
    if (task_ == "ForSequenceClassification") mask = first_token_attention(config_, inputs_.ids);
    if (task_ == "ForQuestionAnswering") mask = question_attention(config_, inputs_.ids);
    // Without global tokens, the model still has the weights of global attention.
    if (!mask.defined()) mask = equal(inputs_.ids, -1);
  }

  Linear head(const std::string& name, std::int64_t outputs) const {
    return make_head(root_ / name, config_, outputs);
  }
  Value pooled(const PoolerStyle& style) const {
    return make_pooler(root_ / "pooler", config_, style.activation)(h_, inputs_.attention_mask);
  }
  /// Returns the logits of all tokens, or only of the tokens selected by the input "picks".
  Value masked_lm_logits() {
    const Value picks = request_.input("picks", {"picks"});
    const Value h = picks.defined() ? take(flatten(h_, 0, 1), picks) : h_;
    return make_masked_lm_head(root_ / "masked_lm", encoder_, style_.masked_lm)(h);
  }

  void masked_lm() {
    const Value logits = model_.outputs["logits"] = masked_lm_logits();
    if (const Value labels = request_.input("labels", {"batch", "seq"}); labels.defined())
      model_.outputs["loss"] = label_loss(logits, labels);
  }

  void replaced_tokens() {
    const Value logits = make_replaced_token_head(root_ / "replaced_token", config_)(h_);
    model_.outputs["logits"] = logits;
    if (const Value labels = request_.input("labels", {"batch", "seq"}); labels.defined())
      model_.outputs["loss"] = replaced_token_loss(logits, labels, inputs_.attention_mask);
  }

  Value pair_logits() {
    const std::int64_t classes = style_.configured_pairs ? request_.config.labels() : 2;
    return head("sentence_pair", classes)(pooled(style_.pooler));
  }

  void pretraining() {
    const Value logits = masked_lm_logits();
    const Value pair = pair_logits();
    model_.outputs["prediction_logits"] = logits;
    model_.outputs[style_.pair_logits] = pair;
    const Value labels = request_.input("labels", {"batch", "seq"});
    const Value pair_labels = request_.input(style_.pair_labels, {"batch"});
    if (labels.defined() != pair_labels.defined()) {
      throw ArgumentError(fmt::format("{} requires both labels and {} to compute a loss",
                                      request_.architecture, style_.pair_labels));
    }
    if (labels.defined())
      model_.outputs["loss"] = label_loss(logits, labels) + label_loss(pair, pair_labels);
  }

  void next_sentence() {
    const Value logits = pair_logits();
    model_.outputs["logits"] = logits;
    Value labels = request_.input("labels", {"batch"});
    if (!labels.defined()) labels = request_.input(style_.pair_labels, {"batch"});
    if (labels.defined()) model_.outputs["loss"] = label_loss(logits, labels);
  }

  void sequence_classification() {
    const std::int64_t classes = request_.config.labels();
    const Value logits = head("classifier", classes)(pooled(classifier_pooler()));
    model_.outputs["logits"] = logits;
    const int rank = request_.rank("labels");
    if (rank < 0) return;
    const bool stated = !request_.config.text("problem_type").empty();
    if (style_.soft_sequence_labels && !stated && classes > 1) {
      const Value labels =
          rank == 1 ? request_.input("labels", {"batch"}) : request_.input("labels", {"batch", ""});
      model_.outputs["loss"] =
          rank == 1 ? label_loss(logits, where(labels < 0, -100, labels))
                    : -mean(sum(log_softmax(logits, -1) * cast(labels, logits.dtype()), -1));
      return;
    }
    model_.outputs["loss"] = sequence_label_loss(request_, logits, classes);
  }

  void token_classification() {
    const Value logits =
        make_token_scores(root_, "classifier", config_, request_.config.labels())(h_);
    model_.outputs["logits"] = logits;
    if (const Value labels = request_.input("labels", {"batch", "seq"}); labels.defined())
      model_.outputs["loss"] = label_loss(logits, labels);
  }

  void question_answering() {
    const std::int64_t columns = request_.config.labels();
    if (columns != 2) {
      throw ArgumentError(fmt::format("config.json: {} requires 2 labels (start and end), not {}",
                                      request_.architecture, columns));
    }
    put_span(request_, model_, make_token_scores(root_, "span", config_, 2)(h_));
  }

  Request& request_;
  const EncoderStyle& style_;
  Scope root_;
  std::string task_;
  EncoderConfig config_;
  Encoder encoder_;
  EncoderInputs inputs_;
  Model model_;
  Value h_;
};

}  // namespace

void decoder_sizes(const ConfigReader&, const EncoderConfig& c) {
  check::at_least("layers", c.layers, 1);
  check::at_least("heads", c.heads, 1);
  check::at_least("width", c.width, 1);
  check::at_most({{"layers", c.layers, size_limits::kLayers},
                  {"heads", c.heads, size_limits::kHeads},
                  {"width", c.width, size_limits::kWidth},
                  {"head_size", c.head_size, size_limits::kWidth}});
}

void read_positions(const std::string& name, EncoderConfig& c) {
  for (const EncoderPositions known : {EncoderPositions::absolute, EncoderPositions::relative_key,
                                       EncoderPositions::relative_key_query}) {
    if (name != choice_name(known)) continue;
    c.positions = known;
    return;
  }
  throw ArgumentError(
      fmt::format("config.json: position_embedding_type \"{}\" is not supported; use absolute, "
                  "relative_key or relative_key_query",
                  name));
}

ModelTypes encoder_model_types(const std::vector<EncoderType>& types) {
  ModelTypes result;
  for (const EncoderType& type : types) {
    const auto build = [type](Request& request) {
      EncoderConfig c = type.defaults;
      EncoderStyle style = type.style;
      type.keys.read(request.config, c, style);
      request.config.ignore_labels();  // all classes accept these keys
      // Settings of cross-encoders, which models/inputs/sentences/cross_encoder.h reads.
      request.config.ignore({"sentence_transformers", "sbert_ce_default_activation_function"});
      return Task(request, c, style).build();
    };
    const auto write = [type](ConfigWriter& config, const FamilyConfig& family,
                              const HeadFacts& heads) {
      auto c = std::get<EncoderConfig>(family);
      c.embedding_width = c.embeddings();
      EncoderStyle style = type.style;
      style.masked_lm = heads.masked_lm;
      style.classifier_dense.activation = heads.pooler;
      type.keys.write(config, c, style);
    };
    result.push_back({type.name, type.prefix, build, write});
  }
  return result;
}

}  // namespace weft::hf
