// Speculative decoding: cheap guesses of the next tokens of texts, which the model checks in one
// step (Leviathan et al. 2023, Chen et al. 2023).
//
// A step runs the last token of a text and the proposed ones, and the next ids are then chosen one
// after another, as without proposals, as long as the chosen id equals the proposed one. Proposals
// therefore never change a text; they only change how many ids a step yields.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/slots.h"
#include "weft/models/generate/structured/constraint.h"

namespace WEFT_API weft {

/// A running text for which ids are proposed.
struct SpeculatedText {
  std::int64_t number = 0;  // identifies the text until Proposer::drop()
  const TokenIds& ids;      // the prompt and the new ids so far
  const GenerationOptions& options;
  const LengthRules& lengths;
  const ConstraintState* constraint = nullptr;  // of options.constraint
  std::int64_t most = 0;                        // maximum number of ids to propose
};

/// A way to guess the next ids.
class Proposer {
 public:
  virtual ~Proposer() = default;
  /// Returns at most `most` ids for each text, possibly none.
  virtual std::vector<TokenIds> propose(std::span<const SpeculatedText> texts) = 0;
  /// Forgets a text that has ended. Texts that were never passed to propose() are ignored.
  virtual void drop(std::int64_t number) = 0;
};

/// Proposes the ids that followed the last occurrence of the last ids of a text in the text itself
/// (Saxena 2023, "prompt lookup"). Good for answers that repeat parts of their prompt, such as
/// summaries, corrections and code. Takes no memory; time proportional to the length of the text.
class PromptLookup : public Proposer {
 public:
  std::vector<TokenIds> propose(std::span<const SpeculatedText> texts) override;
  void drop(std::int64_t) override {}

  /// The shortest and the longest sequence of ids that is looked up. The longest match is used, and
  /// the latest one of equal length.
  static constexpr std::int64_t kShortest = 2, kLongest = 5;
};

/// Proposes the ids that a smaller model with the same vocabulary chooses with the same options and
/// the same seed. It has its own caches. There are no proposals for a text if these caches have no
/// room for it, and while its prompt is being processed.
class DraftModel : public Proposer {
 public:
  /// Same arguments and errors as DecodeSlots. `vocab` is the number of ids of the model that
  /// checks the proposals; ids that only one of the two models has are not proposed.
  DraftModel(Session& session, const Program& program, const GptConfig& config, std::int64_t vocab,
             const DecodeSlotsOptions& options = {})
      : slots_(session, program, config, options), config_(config), vocab_(vocab) {}

  std::vector<TokenIds> propose(std::span<const SpeculatedText> texts) override;
  void drop(std::int64_t number) override;
  /// See DecodeSlots::run_largest().
  void run_largest() { slots_.run_largest(); }

 private:
  struct Draft {
    std::int64_t slot = 0;
    TokenIds ids;  // the ids in the slot
  };

  /// Returns the draft of a text after its slot contains only ids of the text, or null if the draft
  /// model cannot continue the text.
  Draft* in_step(const SpeculatedText& text);

  DecodeSlots slots_;
  GptConfig config_;
  std::int64_t vocab_;
  std::map<std::int64_t, Draft> drafts_;  // by the number of the text
};

/// Decides how many ids to propose for each text, and counts the accepted ones. If all proposals
/// for a text are accepted, their number is doubled. After a rejection, it is the number of
/// accepted ones. After several steps without accepted proposals, the text gets none for some
/// steps.
class Speculation {
 public:
  /// `most` is the maximum number of proposed ids per step, of all texts together.
  Speculation(std::unique_ptr<Proposer> proposer, std::int64_t most)
      : proposer_(std::move(proposer)), most_(most) {}

  /// Sets SpeculatedText::most of texts, and returns the proposed ids of each. `rows` is the number
  /// of tokens in the step without proposals.
  std::vector<TokenIds> propose(std::vector<SpeculatedText>& texts, std::int64_t rows);
  /// Records how many of the proposed ids of a text were accepted.
  void record(std::int64_t number, std::int64_t proposed, std::int64_t accepted);
  /// Forgets a text that has ended.
  void drop(std::int64_t number);

  std::int64_t proposed() const { return proposed_; }
  std::int64_t accepted() const { return accepted_; }

  /// Maximum number of tokens of a step with proposals. Products of up to eight rows read the
  /// weights once and take little longer than those of one row; beyond that, the time is
  /// proportional to the number of rows, and proposals would slow down the other texts.
  static constexpr std::int64_t kRows = 8;

 private:
  /// The success of the proposals for a text.
  struct Pace {
    std::int64_t count = 2;     // number of ids to propose
    std::int64_t failures = 0;  // number of steps, one after another, without an accepted id
    std::int64_t pause = 0;     // number of steps without proposals
  };

  std::unique_ptr<Proposer> proposer_;
  std::int64_t most_;
  std::map<std::int64_t, Pace> paces_;
  std::int64_t proposed_ = 0, accepted_ = 0;
};

}  // namespace weft
