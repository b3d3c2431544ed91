#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {

/// A workspace that is borrowed to encode a single text.
class SubwordPipeline::Lease {
 public:
  Lease(const SubwordPipeline& owner, std::string_view text)
      : owner_(owner), is_long_(text.size() > kLongText) {
    const std::lock_guard lock(owner.mutex_);
    if (!owner.idle_.empty()) {
      work_ = std::move(owner.idle_.back());
      owner.idle_.pop_back();
    }
    if (work_ == nullptr) work_ = std::make_unique<Workspace>();
  }
  ~Lease() {
    if (is_long_) return;
    const std::lock_guard lock(owner_.mutex_);
    try {
      owner_.idle_.push_back(std::move(work_));
    } catch (const std::bad_alloc&) {  // the workspace is freed
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Workspace& operator*() const { return *work_; }

 private:
  /// In bytes. The workspaces of longer texts, 12 times their size, are not kept.
  static constexpr std::size_t kLongText = 256 << 10;

  const SubwordPipeline& owner_;
  const bool is_long_;
  std::unique_ptr<Workspace> work_;
};

SubwordPipeline::SubwordPipeline(SubwordParts parts)
    : parts_(std::move(parts)), added_(parts_.added, parts_.normalizer) {
  takes_bytes_ = parts_.model->takes_bytes();
  vocab_size_ = parts_.model->size();
  if (!added_.all().empty())
    vocab_size_ = std::max<std::int64_t>(vocab_size_, added_.all().back().id + std::int64_t{1});
  check_ids();
  find_special();
}

void SubwordPipeline::check_ids() const {
  const auto check = [this](std::int32_t id, std::string_view what) {
    if (id < 0 || id >= vocab_size_) {
      throw FormatError(fmt::format("{} uses the id {}, which is outside the vocabulary [0, {})",
                                    what, id, vocab_size_));
    }
  };
  if (parts_.post_processor != nullptr)
    for (const std::int32_t id : parts_.post_processor->ids()) check(id, "the post-processor");
  if (parts_.padding) check(parts_.padding->pad_id, "the padding");
  for (const auto& [name, id] : kSpecialIds) {
    if (parts_.special.*id >= 0) check(parts_.special.*id, fmt::format("the {} token", name));
  }
}

void SubwordPipeline::find_special() {
  special_ = parts_.special;
  const auto look = [this](std::int32_t& id, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (id >= 0) return;
      const std::int32_t found = find(name);
      const AddedToken* token = added_.find(found);
      if (token != nullptr && token->special) id = found;
    }
  };
  if (special_.unk < 0) special_.unk = parts_.model->unknown();
  look(special_.pad, {"[PAD]", "<pad>", "<|pad|>", "<|padding|>"});
  look(special_.bos,
       {"<s>", "[BOS]", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>"});
  look(special_.eos, {"</s>", "[EOS]", "<eos>", "<|end_of_text|>", "<|endoftext|>"});
  look(special_.cls, {"[CLS]"});
  look(special_.sep, {"[SEP]"});
  look(special_.mask, {"[MASK]", "<mask>"});
}

void SubwordPipeline::check(std::int32_t id) const {
  if (id < 0 || id >= vocab_size_)
    throw DataError(fmt::format("token id {} is outside the vocabulary [0, {})", id, vocab_size_));
}

std::string_view SubwordPipeline::piece(std::int32_t id) const {
  if (const AddedToken* token = added_.find(id)) return token->content;
  return id < parts_.model->size() ? parts_.model->piece(id) : std::string_view();
}

std::int32_t SubwordPipeline::find(std::string_view piece) const {
  const std::int32_t id = added_.find(piece);
  return id >= 0 ? id : parts_.model->find(piece);
}

void SubwordPipeline::cut(std::string_view text, const EncodeOptions& options,
                          Workspace& work) const {
  SplitText& parts = work.parts;
  if (find_invalid_utf8(text) == text.size()) {
    parts.text.assign(text);
  } else {
    RepairedText fixed = repair(text);
    parts.text.assign(std::move(fixed.text), std::move(fixed.spans));
  }
  parts.parts.clear();
  if (!text.empty()) parts.parts.push_back({0, parts.text.size(), -1});
  parts.place = options.place;
  parts.takes_bytes = takes_bytes_;
  parts.bytes = false;
  added_.cut(parts, false, options.special_in_text, options.plain);
  if (parts_.normalizer != nullptr) parts_.normalizer->normalise(parts);
  added_.cut(parts, true, options.special_in_text, options.plain);
  if (parts_.pre_tokenizer != nullptr) parts_.pre_tokenizer->split(parts);
}

std::span<const SubwordSpan> SubwordPipeline::segment(std::string_view word,
                                                      Workspace& work) const {
  // Most words are shorter. Splitting them again would cost more than it saves.
  constexpr std::size_t kWholeWord = 16;
  const std::size_t first =
      word.size() > kWholeWord ? parts_.model->independent_size(word) : word.size();
  if (first == word.size()) return segment_part(word, work);
  work.found.clear();
  for (std::size_t begin = 0, size = first; begin < word.size();) {
    for (const SubwordSpan& piece : segment_part(word.substr(begin, size), work)) {
      const auto shift = static_cast<std::uint32_t>(begin);
      work.found.push_back({piece.id, piece.begin + shift, piece.end + shift});
    }
    begin += size;
    if (begin < word.size()) size = parts_.model->independent_size(word.substr(begin));
  }
  return work.found;
}

// Segments a word, or a part of a word that is independent of the rest.
std::span<const SubwordSpan> SubwordPipeline::segment_part(std::string_view part,
                                                           Workspace& work) const {
  std::span<const SubwordSpan> pieces;
  const bool is_short = part.size() <= WordCache::kLongestWord;
  if (is_short && work.words.find(part, pieces)) return pieces;
  work.part.clear();
  parts_.model->segment(part, work.part);
  if (is_short) work.words.keep(part, work.part);
  return work.part;
}

// Emits the ids of a word that contains invalid UTF-8 and whose bytes are kept.
template <class Give>
void SubwordPipeline::emit_invalid_bytes(std::string_view text, const TextPart& part,
                                         Workspace& work, const Give& give) const {
  const std::string_view word = work.parts.view(part);
  std::string bytes;
  std::vector<Span> spans;  // the source span of each byte
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = character_size(word[at]);
    const auto begin = part.begin + static_cast<std::uint32_t>(at);
    const Span span = work.parts.text.source(begin, begin + static_cast<std::uint32_t>(size));
    const std::string_view original = text.substr(span.begin, span.end - span.begin);
    if (word.substr(at, size) == kReplacementCharacter && original != kReplacementCharacter) {
      bytes += original;
      for (std::uint32_t byte = span.begin; byte < span.end; ++byte)
        spans.push_back({byte, byte + 1});
    } else {
      bytes += word.substr(at, size);
      spans.resize(bytes.size(), span);
    }
    at += size;
  }
  for (const SubwordSpan& piece : segment(bytes, work))
    give(piece.id, Span{spans[piece.begin].begin, spans[piece.end - 1].end});
}

// Drops leading words. Keeps the smallest number of trailing words that have at least `most` ids in
// total.
void SubwordPipeline::drop_front_words(Workspace& work, std::size_t most) const {
  std::vector<TextPart>& parts = work.parts.parts;
  std::size_t count = 0, first = parts.size();
  while (first > 0 && count < most) {
    --first;
    count += parts[first].id >= 0 ? 1 : segment(work.parts.view(parts[first]), work).size();
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(first));
}

template <class Give>
void SubwordPipeline::run(std::string_view text, const EncodeOptions& options,
                          const TokenLimit& limit, const Give& give_id) const {
  const Lease lease(*this, text);
  Workspace& work = *lease;
  cut(text, options, work);
  const bool keeps = options.broken == InvalidBytes::kept && work.parts.bytes &&
                     find_invalid_utf8(text) < text.size();
  if (limit.cut == TextEnd::left) drop_front_words(work, limit.most);
  std::size_t count = 0;
  const auto give = [&](std::int32_t id, const auto& span, std::int32_t word) {
    give_id(id, span, word);
    ++count;
  };
  std::int32_t word = 0;
  for (const TextPart& part : work.parts.parts) {
    if (count >= limit.most) break;
    const auto source = [&](std::uint32_t begin, std::uint32_t end) {
      return work.parts.text.source(part.begin + begin, part.begin + end);
    };
    const std::string_view view = work.parts.view(part);
    if (part.id >= 0) {
      give(
          part.id, [&] { return source(0, part.end - part.begin); }, word);
    } else if (keeps && view.find(kReplacementCharacter) != std::string_view::npos) {
      emit_invalid_bytes(text, part, work, [&](std::int32_t id, Span span) {
        give(
            id, [&] { return span; }, word);
      });
    } else {
      for (const SubwordSpan& piece : segment(view, work))
        give(
            piece.id, [&] { return source(piece.begin, piece.end); }, word);
    }
    ++word;
  }
}

void SubwordPipeline::encode(std::string_view text, const EncodeOptions& options,
                             std::vector<std::int32_t>& ids) const {
  run(text, options, {}, [&](std::int32_t id, const auto&, std::int32_t) { ids.push_back(id); });
}

Encoding SubwordPipeline::encode(std::string_view text, const EncodeOptions& options,
                                 const TokenLimit& limit) const {
  Encoding result;
  run(text, options, limit, [&](std::int32_t id, const auto& span, std::int32_t word) {
    result.ids.push_back(id);
    result.spans.push_back(span());
    result.words.push_back(word);
  });
  result.type_ids.assign(result.size(), 0);
  result.special.assign(result.size(), 0);
  result.attention.assign(result.size(), 1);
  result.sequences.assign(result.size(), 0);
  return result;
}

std::vector<std::string> SubwordPipeline::pieces(std::string_view text) const {
  std::vector<std::string> result;
  run(text, {}, {}, [&](std::int32_t id, const auto& span, std::int32_t) {
    if (id != special_.unk) {
      result.emplace_back(piece(id));
    } else {
      const Span unknown = span();
      result.emplace_back(text.substr(unknown.begin, unknown.end - unknown.begin));
    }
  });
  return result;
}

std::string SubwordPipeline::decode(std::span<const std::int32_t> ids,
                                    const DecodeOptions& options) const {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const std::int32_t id : ids) {
    check(id);
    const AddedToken* token = added_.find(id);
    if (token != nullptr) {
      if (!token->special || options.keep_special) pieces.emplace_back(added_.seen(id));
    } else if (const std::string_view text = piece(id); !text.empty()) {
      pieces.emplace_back(text);
    }
  }
  if (parts_.decoder != nullptr) parts_.decoder->decode(pieces, options.keep_bytes);
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && parts_.decoder == nullptr) text += ' ';
    text += pieces[i];
  }
  return text;
}

}  // namespace weft
