// The token files of a set as one: "corpus" is corpus-00000.tok, corpus-00001.tok, ...
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/data/tokens/token_file.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The name of a file of the set `prefix`: "corpus-00012.tok".
std::string token_file_name(const std::string& prefix, std::int64_t number);
/// Whether `path` names a set: its prefix, or its first file (any file that begins as a token file
/// does).
bool is_token_set(const std::string& path);

/// For any number of threads; copies share the files. Immutable.
class TokenSet {
 public:
  /// Of a prefix, or of a set's first file. Throws IoError; FormatError as TokenFile, and where
  /// files are missing, are of different sets, or have different tokenizers.
  static TokenSet open(const std::string& path);

  /// What it was opened by.
  const std::string& path() const { return path_; }
  const std::vector<std::shared_ptr<const TokenFile>>& files() const { return files_; }
  /// Of all files.
  std::int64_t tokens() const { return ends_.back().token; }
  std::int64_t documents() const { return documents_.back(); }
  std::int64_t bytes() const { return ends_.back().byte; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const TokenizerDigest& digest() const { return files_.front()->header().digest; }
  /// The id behind every document; -1 where there is none.
  std::int32_t end_id() const { return files_.front()->header().end_id; }
  /// Tells sets apart: as many digits as all that they hold decides.
  std::string word() const;

  /// As TokenFile says them, over all files.
  void read(std::int64_t begin, std::span<std::int32_t> ids) const;
  TokenPlace last_place(std::int64_t byte) const;
  TokenPlace document_end(std::int64_t i) const;
  /// The document that id `token` is in.
  std::int64_t document_of(std::int64_t token) const;

 private:
  std::string path_;
  std::vector<std::shared_ptr<const TokenFile>> files_;
  std::vector<TokenPlace> ends_;         // of each file
  std::vector<std::int64_t> documents_;  // up to the end of each file
  std::shared_ptr<const Tokenizer> tokenizer_;
};

/// Throws DataError that says both where `tokenizer`, that of `owner` ("the model in net.weft"), is
/// not that of the set.
void require_tokenizer(const TokenSet& set, const Tokenizer& tokenizer, std::string_view owner);

}  // namespace weft
