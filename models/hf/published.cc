#include "weft/models/hf/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/models/hf/published_decoders.h"

namespace weft::hf {
namespace {

PublishedModel gpt(const char* name, std::int64_t layers, std::int64_t heads, std::int64_t width,
                   std::int64_t context, std::int64_t parameters) {
  return {
      .name = name,
      .architecture = "GPT2LMHeadModel",
      .trained = "GPT2LMHeadModel",
      .config = fmt::format(
          R"({{"model_type": "gpt2", "n_layer": {}, "n_head": {}, "n_embd": {}, "n_positions": {}}})",
          layers, heads, width, context),
      .parameters = parameters,
      .layers = layers,
      .width = width};
}

PublishedModel encoder(const char* name, const std::string& family, const char* config,
                       std::int64_t layers, std::int64_t width, std::int64_t parameters) {
  return {.name = name,
          .architecture = family + "Model",
          .trained = family + "ForMaskedLM",
          .config = config,
          .parameters = parameters,
          .layers = layers,
          .width = width};
}

PublishedModel t5(const char* name, std::int64_t layers, std::int64_t width, std::int64_t heads,
                  std::int64_t head_size, std::int64_t inner, std::int64_t parameters) {
  return {.name = name,
          .architecture = "T5ForConditionalGeneration",
          .trained = "T5ForConditionalGeneration",
          .config = fmt::format(R"({{"model_type": "t5", "num_layers": {}, "d_model": {},
                                     "num_heads": {}, "d_kv": {}, "d_ff": {}}})",
                                layers, width, heads, head_size, inner),
          .parameters = parameters,
          .modality = Modality::text_to_text,
          .layers = layers,
          .width = width};
}

PublishedModel bart(const char* name, std::int64_t layers, std::int64_t width, std::int64_t heads,
                    std::int64_t parameters) {
  return {.name = name,
          .architecture = "BartModel",
          .trained = "BartForConditionalGeneration",
          .config = fmt::format(R"({{"model_type": "bart", "encoder_layers": {0},
                                     "decoder_layers": {0}, "d_model": {1},
                                     "encoder_attention_heads": {2}, "decoder_attention_heads": {2},
                                     "encoder_ffn_dim": {3}, "decoder_ffn_dim": {3}}})",
                                layers, width, heads, 4 * width),
          .parameters = parameters,
          .modality = Modality::text_to_text,
          .layers = layers,
          .width = width};
}

// A ViT for 224 x 224 images with a classification head for 1000 classes.
PublishedModel vit(const char* name, std::int64_t patch, std::int64_t layers, std::int64_t width,
                   std::int64_t heads, std::int64_t parameters) {
  constexpr std::int64_t kSide = 224;
  return {
      .name = name,
      .architecture = "ViTForImageClassification",
      .trained = "ViTForImageClassification",
      .config = fmt::format(
          R"({{"model_type": "vit", "patch_size": {}, "num_hidden_layers": {}, "hidden_size": {},
                   "num_attention_heads": {}, "intermediate_size": {}, "num_labels": 1000}})",
          patch, layers, width, heads, 4 * width),
      .parameters = parameters,
      .modality = Modality::image,
      .image_size = kSide,
      .patches = (kSide / patch) * (kSide / patch),
      .layers = layers,
      .width = width};
}

// Another vision transformer. `keys` are those of its config without model_type and image_size.
PublishedModel vision(const char* name, const char* type, const std::string& keys,
                      std::int64_t side, std::int64_t patch, std::int64_t parameters) {
  return {
      .name = name,
      .architecture = {},
      .trained = {},
      .config = fmt::format(R"({{"model_type": "{}", "image_size": {}, {}}})", type, side, keys),
      .parameters = parameters,
      .modality = Modality::image,
      .image_size = side,
      .patches = (side / patch) * (side / patch)};
}

PublishedModel dinov2(const char* name, std::int64_t layers, std::int64_t width, std::int64_t heads,
                      const char* more, std::int64_t parameters) {
  PublishedModel model =
      vision(name, "dinov2",
             fmt::format(R"("patch_size": 14, "num_hidden_layers": {}, "hidden_size": {},
                            "num_attention_heads": {}{})",
                         layers, width, heads, more),
             518, 14, parameters);
  model.architecture = "Dinov2Model";
  model.trained = "Dinov2ForImageClassification";
  model.layers = layers;
  model.width = width;
  return model;
}

PublishedModel beit(const char* name, std::int64_t layers, std::int64_t width, std::int64_t heads,
                    std::int64_t parameters) {
  PublishedModel model =
      vision(name, "beit",
             fmt::format(R"("num_hidden_layers": {}, "hidden_size": {}, "intermediate_size": {},
                            "num_attention_heads": {}, "use_relative_position_bias": true,
                            "num_labels": 1000)",
                         layers, width, 4 * width, heads),
             224, 16, parameters);
  model.architecture = model.trained = "BeitForImageClassification";
  model.layers = layers;
  model.width = width;
  return model;
}

// The stages of a Swin transformer halve the rows and columns and double the width, so that every
// block needs the same number of products.
PublishedModel swin(const char* name, std::int64_t width, std::int64_t third, std::int64_t heads,
                    std::int64_t parameters) {
  PublishedModel model = vision(name, "swin",
                                fmt::format(R"("embed_dim": {}, "depths": [2, 2, {}, 2],
                            "num_heads": [{}, {}, {}, {}], "num_labels": 1000)",
                                            width, third, heads, 2 * heads, 4 * heads, 8 * heads),
                                224, 4, parameters);
  model.architecture = model.trained = "SwinForImageClassification";
  model.layers = 6 + third;
  model.width = width;
  model.window = 7 * 7;
  return model;
}

std::vector<PublishedModel> make_models() {
  std::vector<PublishedModel> models = {
      gpt("gpt2", 12, 12, 768, 1024, 124439808),
      gpt("gpt2-medium", 24, 16, 1024, 1024, 354823168),
      gpt("gpt2-large", 36, 20, 1280, 1024, 774030080),
      gpt("gpt2-xl", 48, 25, 1600, 1024, 1557611200),
      // Brown et al. 2020, table 2.1: 96 layers of width 12288. The sparse attention in every other
      // layer does not change the number of parameters.
      gpt("gpt3-175b", 96, 96, 12288, 2048, 174604259328),
      encoder("bert-base", "Bert", R"({"model_type": "bert"})", 12, 768, 109482240),
      encoder("bert-large", "Bert",
              R"({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
                  "num_attention_heads": 16, "intermediate_size": 4096})",
              24, 1024, 335141888),
      encoder("roberta-base", "Roberta",
              R"({"model_type": "roberta", "vocab_size": 50265, "max_position_embeddings": 514,
                  "type_vocab_size": 1, "layer_norm_eps": 1e-5})",
              12, 768, 124645632),
      encoder("distilbert-base", "DistilBert", R"({"model_type": "distilbert"})", 6, 768, 66362880),
      encoder("albert-base", "Albert",
              R"({"model_type": "albert", "hidden_size": 768, "num_attention_heads": 12,
                  "intermediate_size": 3072})",
              12, 768, 11683584),
      encoder("mpnet-base", "MPNet",
              R"({"model_type": "mpnet", "max_position_embeddings": 514, "layer_norm_eps": 1e-5})",
              12, 768, 109486464),
      encoder("modernbert-base", "ModernBert", R"({"model_type": "modernbert"})", 22, 768,
              149014272),
      encoder("modernbert-large", "ModernBert",
              R"({"model_type": "modernbert", "hidden_size": 1024, "num_hidden_layers": 28,
                  "num_attention_heads": 16, "intermediate_size": 2624})",
              28, 1024, 394781696),
      encoder("nomic-embed-text-v1.5", "NomicBert",
              R"({"model_type": "nomic_bert", "vocab_size": 30528, "hidden_act": "silu",
                  "rope_parameters": {"rope_type": "default", "rope_theta": 1000}})",
              12, 768, 136731648),
      encoder("gte-base-en-v1.5", "New",
              R"({"model_type": "new", "max_position_embeddings": 8192, "type_vocab_size": 0,
                  "pad_token_id": 0, "rope_theta": 500000,
                  "rope_scaling": {"type": "ntk", "factor": 2}})",
              12, 768, 136776192),
      encoder("eurobert-210m", "EuroBert", R"({"model_type": "eurobert"})", 12, 768, 211766016),
      t5("t5-small", 6, 512, 8, 64, 2048, 60506624),
      t5("t5-base", 12, 768, 12, 64, 3072, 222903552),
      t5("t5-large", 24, 1024, 16, 64, 4096, 737668096),
      t5("t5-3b", 24, 1024, 32, 128, 16384, 2851598336),
      t5("t5-11b", 24, 1024, 128, 128, 65536, 11307321344),
      bart("bart-base", 6, 768, 12, 139420416),
      bart("bart-large", 12, 1024, 16, 406291456),
      vit("vit-b16", 16, 12, 768, 12, 86567656),
      vit("vit-l16", 16, 24, 1024, 16, 304326632),
      vit("vit-h14", 14, 32, 1280, 16, 632045800),
      dinov2("dinov2-small", 12, 384, 6, "", 22056576),
      dinov2("dinov2-base", 12, 768, 12, "", 86580480),
      dinov2("dinov2-large", 24, 1024, 16, "", 304368640),
      dinov2("dinov2-giant", 40, 1536, 24, R"(, "use_swiglu_ffn": true)", 1136480768),
      beit("beit-base", 12, 768, 12, 86530984),
      beit("beit-large", 24, 1024, 16, 304430568),
      swin("swin-tiny", 96, 6, 3, 28288354),
      swin("swin-small", 96, 18, 3, 49606258),
      swin("swin-base", 128, 18, 4, 87768224),
      swin("swin-large", 192, 18, 6, 196532476),
  };
  std::vector<PublishedModel> decoders = published_decoders();
  std::move(decoders.begin(), decoders.end(), std::back_inserter(models));
  return models;
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> models = make_models();
  return models;
}

const PublishedModel& find_published_model(std::string_view name) {
  std::vector<std::string> known;
  for (const PublishedModel& model : published_models()) {
    if (model.name == name) return model;
    known.push_back(model.name);
  }
  throw ArgumentError(unknown_name("model", name, known));
}

InputTypes published_inputs(const PublishedModel& model, std::int64_t batch, std::int64_t seq,
                            bool labels) {
  InputTypes types;
  const std::pair<DType, Sizes> ids{DType::i32, {batch, seq}};
  if (model.modality == Modality::image) {
    types["pixel_values"] = {DType::f32, {batch, 3, model.image_size, model.image_size}};
  } else {
    types["input_ids"] = ids;
  }
  if (model.modality == Modality::text_to_text) types["decoder_input_ids"] = ids;
  if (labels)
    types["labels"] = model.modality == Modality::image ? std::pair{DType::i32, Sizes{batch}} : ids;
  return types;
}

}  // namespace weft::hf
