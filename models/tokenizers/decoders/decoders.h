// The decoders of tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/tokenizers/decoders/decoder.h"
#include "weft/models/tokenizers/pattern.h"
#include "weft/models/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/tokenizers/pre_tokenizers/metaspace.h"

namespace WEFT_API weft {
namespace decoders {

using Pieces = std::vector<std::string>;

/// GPT-2's alphabet as bytes.
class ByteLevel : public Decoder {
 public:
  static constexpr const char* kName = "ByteLevel";
  template <class Fields>
  void describe(Fields& fields) {
    pre_tokenizers::ByteLevel::describe_settings(fields, settings_);
  }
  void decode(Pieces& pieces, bool keep_bytes) const override;

 private:
  pre_tokenizers::ByteLevel::Settings settings_;  // of no effect here: kept to be written again
};

/// Pieces that go on lose their prefix, others get a blank in front.
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
  bool cleanup_ = true;  // blanks in front of signs and contractions go
};

/// The suffix of a word's last piece becomes a blank.
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

/// The character that stands for blanks becomes one.
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

/// "<0x0A>" as bytes.
class ByteFallback : public Decoder {
 public:
  static constexpr const char* kName = "ByteFallback";
  template <class Fields>
  void describe(Fields&) {}
  void decode(Pieces& pieces, bool keep_bytes) const override;
};

/// All pieces as one, for what comes next.
class Fuse : public Decoder {
 public:
  static constexpr const char* kName = "Fuse";
  template <class Fields>
  void describe(Fields&) {}
  void decode(Pieces& pieces, bool keep_bytes) const override;
};

/// Pieces lose up to so many of one character at their ends.
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

class Replace : public Decoder, public Replacement {
 public:
  void decode(Pieces& pieces, bool keep_bytes) const override;
};

/// Connectionist temporal classification: of equal neighbours one stays, padding goes.
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

/// Several, one after another.
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
