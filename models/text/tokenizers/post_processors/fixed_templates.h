// Post-processors with a fixed template for special tokens: BERT's, RoBERTa's and GPT-2's.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/post_processors/post_processor.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"

namespace WEFT_API weft {
namespace post_processors {

/// A piece and its id, as they are stored in files.
using NamedId = std::pair<std::string, std::int32_t>;

/// BERT's template: [CLS] first [SEP] second [SEP].
class Bert : public PostProcessor {
 public:
  static constexpr const char* kName = "BertProcessing";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("sep", sep_);
    fields.required("cls", cls_);
  }
  std::size_t added(bool pair) const override { return pair ? 3 : 2; }
  std::vector<std::int32_t> ids() const override { return {sep_.second, cls_.second}; }
  void process(std::vector<Encoding>& encodings, bool add_special,
               const PieceOf& piece) const override;

 private:
  NamedId sep_{"[SEP]", 102}, cls_{"[CLS]", 101};
};

/// RoBERTa's template: <s> first </s> </s> second </s>, all with type id 0.
class Roberta : public PostProcessor {
 public:
  static constexpr const char* kName = "RobertaProcessing";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("sep", sep_);
    fields.required("cls", cls_);
    fields.required("trim_offsets", trim_offsets_);
    fields.required("add_prefix_space", add_prefix_space_);
  }
  std::size_t added(bool pair) const override { return pair ? 4 : 2; }
  std::vector<std::int32_t> ids() const override { return {sep_.second, cls_.second}; }
  void process(std::vector<Encoding>& encodings, bool add_special,
               const PieceOf& piece) const override;

 private:
  NamedId sep_{"</s>", 2}, cls_{"<s>", 0};
  bool trim_offsets_ = true, add_prefix_space_ = true;
};

/// Adds no special tokens, but optionally trims whitespace at the ends of spans.
class ByteLevel : public PostProcessor {
 public:
  static constexpr const char* kName = "ByteLevel";
  using Settings = pre_tokenizers::ByteLevel::Settings;

  ByteLevel() = default;
  explicit ByteLevel(const Settings& settings) : settings_(settings) {}
  template <class Fields>
  void describe(Fields& fields) {
    pre_tokenizers::ByteLevel::describe_settings(fields, settings_);
  }
  std::size_t added(bool) const override { return 0; }
  std::vector<std::int32_t> ids() const override { return {}; }
  void process(std::vector<Encoding>& encodings, bool add_special,
               const PieceOf& piece) const override;

 private:
  Settings settings_;
};

/// Applies a list of post-processors in order.
class Sequence : public PostProcessor {
 public:
  static constexpr const char* kName = "Sequence";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("processors", steps_);
  }
  std::size_t added(bool pair) const override;
  std::vector<std::int32_t> ids() const override;
  void process(std::vector<Encoding>& encodings, bool add_special,
               const PieceOf& piece) const override;

 private:
  std::vector<PostProcessorPtr> steps_;
};

}  // namespace post_processors
}  // namespace weft
