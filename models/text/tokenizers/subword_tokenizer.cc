#include "weft/models/text/tokenizers/subword_tokenizer.h"

#include <utility>

#include "weft/models/text/tokenizers/formats/tokenizer_json.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"

namespace weft {

SubwordTokenizer::SubwordTokenizer(std::shared_ptr<const SubwordPipeline> pipeline)
    : pipeline_(std::move(pipeline)) {}

SubwordTokenizer SubwordTokenizer::from_bytes(std::string_view json) {
  return SubwordTokenizer(
      std::make_shared<const SubwordPipeline>(read_tokenizer_json(json, "the tokenizer")));
}

std::string SubwordTokenizer::to_bytes() const { return write_tokenizer_json(*pipeline_); }

std::string SubwordTokenizer::to_hugging_face_json() const {
  return write_tokenizer_json(*pipeline_, false);
}

std::int64_t SubwordTokenizer::vocab_size() const { return pipeline_->vocab_size(); }

const SpecialIds& SubwordTokenizer::special() const { return pipeline_->special(); }

std::vector<std::int32_t> SubwordTokenizer::encode(std::string_view text, TextPlace place) const {
  std::vector<std::int32_t> ids;
  pipeline_->encode(text, {.place = place}, ids);
  return ids;
}

Encoding SubwordTokenizer::encode_alone(std::string_view text, const EncodeOptions& options,
                                        const TokenLimit& limit) const {
  return pipeline_->encode(text, options, limit);
}

std::vector<std::string> SubwordTokenizer::pieces(std::string_view text) const {
  return pipeline_->pieces(text);
}

std::string SubwordTokenizer::decode(std::span<const std::int32_t> ids,
                                     const DecodeOptions& options) const {
  return pipeline_->decode(ids, options);
}

std::string SubwordTokenizer::piece(std::int32_t id) const {
  pipeline_->check(id);
  return std::string(pipeline_->piece(id));
}

std::int32_t SubwordTokenizer::find(std::string_view piece) const { return pipeline_->find(piece); }

bool SubwordTokenizer::is_special(std::int32_t id) const {
  pipeline_->check(id);
  const AddedToken* token = pipeline_->added().find(id);
  return token != nullptr && token->special;
}

bool SubwordTokenizer::is_word_start(std::int32_t id) const {
  pipeline_->check(id);
  return pipeline_->added().find(id) != nullptr ||
         pipeline_->parts().model->begins_word(pipeline_->piece(id));
}

std::size_t SubwordTokenizer::added(bool pair) const {
  const PostProcessorPtr& processor = pipeline_->parts().post_processor;
  return processor == nullptr ? 0 : processor->added(pair);
}

Encoding SubwordTokenizer::add_special_tokens(std::vector<Encoding> texts, bool add_special) const {
  if (const PostProcessorPtr& processor = pipeline_->parts().post_processor) {
    processor->process(texts, add_special,
                       [this](std::int32_t id) { return pipeline_->piece(id); });
  }
  return joined(std::move(texts));
}

const std::optional<Truncation>& SubwordTokenizer::truncation() const {
  return pipeline_->parts().truncation;
}

const std::optional<Padding>& SubwordTokenizer::padding() const {
  return pipeline_->parts().padding;
}

}  // namespace weft
