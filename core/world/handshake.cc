#include "weft/core/world/handshake.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/world/text_list.h"

namespace weft {
namespace {

// The first text of a serialised handshake message. It identifies the format and its version.
constexpr std::string_view kHandshakePrefix = "weft greeting 1";

// Returns the value of a field on each rank, or "" for ranks that do not have this field.
std::vector<std::string_view> texts_of(const std::string& name, const std::vector<Handshake>& all) {
  std::vector<std::string_view> texts;
  for (const Handshake& handshake : all) {
    const std::string* text = handshake.find(name);
    texts.push_back(text == nullptr ? std::string_view() : std::string_view(*text));
  }
  return texts;
}

std::vector<std::string> all_names(const std::vector<Handshake>& all) {
  std::vector<std::string> names;
  for (const Handshake& handshake : all) {
    for (const Handshake::Field& fact : handshake.fields) {
      if (std::find(names.begin(), names.end(), fact.name) == names.end())
        names.push_back(fact.name);
    }
  }
  return names;
}

// Describes the differences between the handshake messages of all ranks. Returns "" if there are
// none.
std::string difference(const World& world, const std::vector<std::string>& messages) {
  const auto rank_name = [&](std::size_t r) {
    return describe_rank(*world.transport(), static_cast<int>(r));
  };
  std::vector<Handshake> all;
  for (const std::string& message : messages) {
    try {
      all.push_back(Handshake::parse(message));
    } catch (const FormatError& e) {
      return fmt::format(
          "{} sent an invalid handshake message; start the same program on all ranks: {}",
          rank_name(all.size()), e.what());
    }
  }
  std::vector<std::string> differences;
  for (const std::string& name : all_names(all)) {
    const std::vector<std::string_view> texts = texts_of(name, all);
    const auto other = std::find_if(texts.begin(), texts.end(),
                                    [&](std::string_view text) { return text != texts[0]; });
    if (other == texts.end()) continue;
    const auto side = [&](std::size_t r) {
      return fmt::format("{} has {}", rank_name(r), texts[r].empty() ? "nothing" : texts[r]);
    };
    differences.push_back(fmt::format("in {}: {}, {}", name, side(0),
                                      side(static_cast<std::size_t>(other - texts.begin()))));
  }
  if (differences.empty()) return "";
  return fmt::format("ranks differ {}", fmt::join(differences, "; "));
}

}  // namespace

void Handshake::add(std::string_view name, std::string_view text) {
  if (name.empty() || find(name) != nullptr)
    throw ArgumentError(fmt::format(
        "cannot add field '{}' to the handshake: the name is empty or already used", name));
  fields.push_back({std::string(name), std::string(text)});
}

const std::string* Handshake::find(std::string_view name) const {
  const auto it =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  return it == fields.end() ? nullptr : &it->text;
}

std::string Handshake::bytes() const {
  std::string list;
  append_text(list, kHandshakePrefix);
  for (const Field& fact : fields) {
    append_text(list, fact.name);
    append_text(list, fact.text);
  }
  return list;
}

Handshake Handshake::parse(std::string_view bytes) {
  const std::vector<std::string> texts = split_texts(bytes);
  if (texts.empty() || texts[0] != kHandshakePrefix) {
    throw FormatError(
        fmt::format("the message does not begin with '{}': it is not a handshake message or has a "
                    "different version",
                    kHandshakePrefix));
  }
  if (texts.size() % 2 == 0)
    throw FormatError("the handshake message ends after the name of a field");
  Handshake handshake;
  for (std::size_t i = 1; i < texts.size(); i += 2) {
    if (texts[i].empty() || handshake.find(texts[i]) != nullptr)
      throw FormatError(
          fmt::format("the handshake message has an empty or repeated field name: '{}'", texts[i]));
    handshake.fields.push_back({texts[i], texts[i + 1]});
  }
  return handshake;
}

void agree(const World& world, const Handshake& handshake) {
  if (world.size() == 1) return;
  const std::string line = difference(world, world.gather(handshake.bytes()));
  if (line.empty()) return;
  // Wait for all ranks, because a rank that throws may end its process. Ranks that have not yet
  // received all handshake messages would then report the lost rank instead of the difference.
  try {
    world.barrier();
  } catch (const WorldError&) {
    // Another rank has already thrown, so all ranks have received the handshake messages.
  }
  throw ArgumentError(line);
}

}  // namespace weft
