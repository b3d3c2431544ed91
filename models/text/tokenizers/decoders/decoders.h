// Decoders in the format of tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/text/tokenizers/decoders/decoder.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/pre_tokenizers/metaspace.h"
#include "weft/models/text/unicode/pattern.h"

namespace WEFT_API weft {
namespace decoders {

using Pieces = std::vector<std::string>;

/// Converts characters of GPT-2's byte alphabet back to bytes.
class ByteLevel : public Decoder {
 public:
  static constexpr const char* kName = "ByteLevel";
  template <class Fields>
  void describe(Fields& fields) {
    pre_tokenizers::ByteLevel::describe_settings(fields, settings_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  // Not used; stored so that files are written back unchanged.
  pre_tokenizers::ByteLevel::Settings settings_;
};

/// Removes the prefix from pieces that continue a word, and inserts a space before all other
/// pieces.
class WordPiece : public Decoder {
 public:
  static constexpr const char* kName = "WordPiece";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("prefix", prefix_);
    fields.required("cleanup", cleanup_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  std::string prefix_ = "##";
  bool cleanup_ = true;  // remove spaces before punctuation and contractions
};

/// Replaces the suffix that marks the end of a word with a space.
class Bpe : public Decoder {
 public:
  static constexpr const char* kName = "BPEDecoder";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("suffix", suffix_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  std::string suffix_ = "</w>";
};

/// Replaces the metaspace character (U+2581 by default) with a space.
class Metaspace : public Decoder {
 public:
  static constexpr const char* kName = "Metaspace";
  template <class Fields>
  void describe(Fields& fields) {
    settings_.describe(fields);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  MetaspaceSettings settings_;
};

/// Replaces byte pieces such as "<0x0A>" with their bytes.
class ByteFallback : public Decoder {
 public:
  static constexpr const char* kName = "ByteFallback";
  template <class Fields>
  void describe(Fields&) {}
  void decode(Pieces& pieces, bool keep_bytes) const override;
};

/// Concatenates all pieces into one for the following steps.
class Fuse : public Decoder {
 public:
  static constexpr const char* kName = "Fuse";
  template <class Fields>
  void describe(Fields&) {}
  void decode(Pieces& pieces, bool keep_bytes) const override;
};

/// Strips up to `start` leading and up to `stop` trailing occurrences of a character from each
/// piece.
class Strip : public Decoder {
 public:
  static constexpr const char* kName = "Strip";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("content", content_);
    fields.required("start", start_);
    fields.required("stop", stop_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  char32_t content_ = U' ';
  std::uint64_t start_ = 0, stop_ = 0;
};

/// Replaces every match of a pattern within each piece.
class Replace : public Decoder, public Replacement {
 public:
  void decode(Pieces& pieces, bool keep_bytes) const override;
};

/// Decodes connectionist temporal classification (CTC) output: collapses equal adjacent pieces and
/// removes padding.
class Ctc : public Decoder {
 public:
  static constexpr const char* kName = "CTC";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("pad_token", pad_token_);
    fields.required("word_delimiter_token", word_delimiter_token_);
    fields.required("cleanup", cleanup_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  std::string pad_token_ = "<pad>", word_delimiter_token_ = "|";
  bool cleanup_ = true;
};

/// Applies several decoders in order.
class Sequence : public Decoder {
 public:
  static constexpr const char* kName = "Sequence";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("decoders", steps_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override {
    for (const DecoderPtr& step : steps_) step->decode(pieces, keep_bytes);
  }

 private:
  std::vector<DecoderPtr> steps_;
};

}  // namespace decoders
}  // namespace weft
