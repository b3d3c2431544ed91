// Every option of every command rejects invalid values before any file is read.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "command_walk.h"
#include "weft/core/error.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(options)
namespace {

const std::vector<std::string> kInvalidIntegers = {"many",
                                                   "1.5",
                                                   "1e3",
                                                   "0x10",
                                                   "+1",
                                                   " 1",
                                                   "1 ",
                                                   "1,000",
                                                   "nan",
                                                   "inf",
                                                   "-",
                                                   "--1",
                                                   "99999999999999999999",
                                                   "-99999999999999999999"};
const std::vector<std::string> kInvalidNumbers = {"nan",   "-nan",   "inf",  "-inf", "infinity",
                                                  "1e999", "-1e999", "much", "1,5",  "0x1p3",
                                                  " 1",    "1 ",     "1e",   "+",    "--1"};
const std::vector<std::string> kInvalidBytes = {
    "-1", "much", "nan", "inf", "1.5", "1e30GiB", "5XB", "0x10", "GiB", "1 MM", "99999999999EiB"};
const std::vector<std::string> kInvalidDurations = {"-1us", "5",      "us", "5 min",
                                                    "nans", "1e999s", "5US"};
const std::vector<std::string> kInvalidIds = {"-1", "1 two", "1,2", "1.5", "4294967296", " "};
const std::vector<std::string> kInvalidPlaces = {"1", "1:", ":1", "1:2:3", "-1:2", "1:-2", "1 1:2"};

/// Returns values just outside a range such as "INTEGER[1, 64]" or "NUMBER(0, 1]".
std::vector<std::string> out_of_range_values(const std::string& type) {
  const std::size_t open = type.find_first_of("[("), comma = type.find(", ");
  if (open == std::string::npos) return {};
  const std::string low = type.substr(open + 1, comma - open - 1),
                    high = type.substr(comma + 2, type.size() - comma - 3);
  std::vector<std::string> values = {"-" + (low == "0" ? std::string("1") : low + "9")};
  if (low != "0" && !low.starts_with('-')) values.emplace_back("0");
  if (type[open] == '(') values.push_back(low);
  if (!high.empty() && high != "2^64") values.push_back(high + "9");
  if (!high.empty() && type.ends_with(')') && high != "2^64") values.push_back(high);
  return values;
}

std::vector<std::string> bad_values(const WalkedOption& option) {
  std::vector<std::string> values = {""};
  const auto add = [&](const std::vector<std::string>& more) {
    values.insert(values.end(), more.begin(), more.end());
  };
  if (option.is(kIntegerType)) add(kInvalidIntegers);
  if (option.is(kNumberType)) add(kInvalidNumbers);
  if (option.type.ends_with(",...")) std::erase(values, "1,5");  // a list of numbers
  if (option.is(kIntegerType) || option.is(kNumberType)) add(out_of_range_values(option.type));
  if (option.is(kBytesType)) add(kInvalidBytes);
  if (option.is(kIdsType)) add(kInvalidIds);
  if (option.is(kPlaceType)) add(kInvalidPlaces);
  if (option.is(kChoiceType)) add({"no-such", "A", " "});
  if (option.is(kOutputType) || option.is(kFolderType)) add({"--text"});
  return values;
}

bool is_one_line(const std::string& message) {
  return !message.empty() && message.find('\n') == std::string::npos && message.size() < 400;
}

BOOST_AUTO_TEST_CASE(all_commands_and_options_are_found) {
  std::map<std::string, std::size_t> counts;
  for (const WalkedCommand& command : all_commands()) counts[command.name] = command.options.size();
  BOOST_TEST(counts.size() >= 17U);
  for (const char* name : {"train gpt", "train encoder", "train seq2seq", "train vit"})
    BOOST_TEST_CONTEXT(name) BOOST_TEST(counts[name] > 40U);
  BOOST_TEST(counts["generate"] > 20U);
  BOOST_TEST(counts["bench gemm"] > 5U);
}

// An option that is not declared through OptionList would have a built-in CLI11 type with different
// checks.
BOOST_AUTO_TEST_CASE(every_option_has_a_known_type) {
  for (const WalkedCommand& command : all_commands()) {
    for (const WalkedOption& option : command.options) {
      BOOST_TEST_CONTEXT(command.name << " " << option.name << ": " << option.type) {
        bool known = option.type == "FLAG";
        for (const char* type :
             {kInputType, kOutputType, kFolderType, kIntegerType, kNumberType, kBytesType,
              kChoiceType, kIdsType, kPlaceType, kStepsType, kTextType})
          known = known || option.is(type);
        BOOST_TEST(known);
      }
    }
  }
}

bool names_positional(const WalkedCommand& command, const std::string& message) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const auto& option) {
    return option.positional && message.find(option.name) != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(errors_for_invalid_values_name_the_option) {
  std::size_t tried = 0;
  for (const WalkedCommand& command : all_commands()) {
    for (const WalkedOption& option : command.options) {
      if (option.type == "FLAG") continue;
      for (const std::string& value : bad_values(option)) {
        // The option precedes all other arguments. If the option is positional, its value is the
        // first argument.
        std::vector<std::string> arguments = command.words;
        if (!option.positional) arguments.push_back(option.name);
        arguments.push_back(value);
        const std::string message = usage_error(arguments);
        ++tried;
        // A value without an option name is parsed as the first positional argument of the command.
        const bool named = message.find(option.name) != std::string::npos ||
                           (option.positional && (message.find("file") != std::string::npos ||
                                                  names_positional(command, message)));
        BOOST_TEST_CONTEXT(command.name << " " << option.name << " '" << value
                                        << "': " << message) {
          BOOST_TEST(is_one_line(message));
          BOOST_TEST(named);
        }
      }
    }
  }
  BOOST_TEST(tried > 2000U);
}

BOOST_AUTO_TEST_CASE(every_option_requires_a_value) {
  for (const WalkedCommand& command : all_commands()) {
    for (const WalkedOption& option : command.options) {
      if (option.type == "FLAG" || option.positional) continue;
      std::vector<std::string> last = command.words, empty = command.words;
      last.push_back(option.name);
      empty.push_back(option.name + "=");
      empty.emplace_back("5");
      BOOST_TEST_CONTEXT(command.name << " " << option.name) {
        BOOST_TEST(usage_error(last).find(option.name) != std::string::npos);
        BOOST_TEST(usage_error(empty).find(option.name) != std::string::npos);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_name_missing_required_options) {
  for (const WalkedCommand& command : all_commands()) {
    for (const WalkedOption& option : command.options) {
      if (!option.required || option.positional) continue;
      BOOST_TEST_CONTEXT(command.name << " without " << option.name) {
        BOOST_TEST(usage_error(required_arguments(command, option.name)).find(option.name) !=
                   std::string::npos);
      }
    }
  }
}

/// Returns a valid value of an option.
std::string good_value(const WalkedOption& option) {
  if (option.is(kChoiceType)) return option.type.substr(7, option.type.find_first_of("|}") - 7);
  if (option.is(kIntegerType)) {
    const std::size_t least = option.type.find('[');
    return least == std::string::npos
               ? "3"
               : std::to_string(std::max(3LL, std::stoll(option.type.substr(least + 1))));
  }
  if (option.is(kIdsType)) return "3";
  if (option.is(kNumberType)) return "0.5";
  if (option.is(kBytesType)) return "1GiB";
  if (option.is(kPlaceType)) return "2:3";
  if (option.is(kStepsType)) return "2-3";
  return "nothing";
}

BOOST_AUTO_TEST_CASE(single_value_options_cannot_be_repeated) {
  for (const WalkedCommand& command : all_commands()) {
    for (const WalkedOption& option : command.options) {
      if (option.type == "FLAG" || option.positional || option.repeatable) continue;
      std::vector<std::string> arguments = command.words;
      for (int i = 0; i < 2; ++i) {
        arguments.push_back(option.name);
        arguments.push_back(good_value(option));
      }
      BOOST_TEST_CONTEXT(command.name << " " << option.name)
      BOOST_TEST(usage_error(arguments).find(option.name) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_option_accepts_a_valid_value) {
  for (const WalkedCommand& command : all_commands()) {
    for (const WalkedOption& option : command.options) {
      if (option.positional) continue;
      std::vector<std::string> arguments = required_arguments(command, option.name);
      arguments.push_back(option.name);
      if (option.type != "FLAG") arguments.push_back(good_value(option));
      const std::string message = usage_error(arguments);
      // Errors about missing companion options are ignored, because they do not concern the value.
      const bool alone = message.empty() || message.find("requires") != std::string::npos ||
                         message.find("must be given together") != std::string::npos ||
                         message.find("inspect needs a file") != std::string::npos;
      BOOST_TEST_CONTEXT(command.name << " " << option.name << ": " << message) BOOST_TEST(alone);
    }
  }
}

BOOST_AUTO_TEST_CASE(contradictory_options_are_rejected) {
  const auto says = [](const std::vector<std::string>& arguments, const std::string& part) {
    const std::string message = usage_error(arguments);
    BOOST_TEST_CONTEXT(message) BOOST_TEST(message.find(part) != std::string::npos);
  };
  says({"inspect", "m.weft", "--batch", "3"}, "--batch applies to --model, not to a file");
  says({"inspect", "m.weft", "--seq", "3"}, "--seq applies to --model");
  says({"inspect", "--model", "gpt2", "--graph"}, "--graph applies to a file, not to --model");
  says({"inspect", "m.weft", "--model", "gpt2"}, "inspect needs a file, or --model");
  says({"inspect", "--model", "gpt2", "--split", "2"}, "--split applies to a file, not to --model");
  says({"inspect", "--model", "gpt2", "--verify"}, "--verify applies to a file, not to --model");
  says({"inspect", "--model", "gpt2", "--shards", "4"}, "--shards requires --ranks");
  says({"generate", "m.weft", "--force", "3:1", "--force", "3:2"},
       "--force is given twice for position 3");
  says({"bench", "gemm", "--m", "3"}, "--m, --n and --k must be given together");
}

BOOST_AUTO_TEST_CASE(seeds_keep_all_64_bits) {
  const auto range = parse_unsigned("--seed", "18446744073709551615");
  BOOST_TEST(range == 18446744073709551615U);
  BOOST_CHECK_THROW(parse_unsigned("--seed", "18446744073709551616"), ArgumentError);
  BOOST_CHECK_THROW(parse_unsigned("--seed", "-1"), ArgumentError);
  BOOST_TEST(usage_error({"generate", "m.weft", "--seed", "18446744073709551615"}).empty());
}

BOOST_AUTO_TEST_CASE(durations_are_parsed_with_units) {
  BOOST_TEST(parse_duration("l", "50us") == 50 * 1e-6);
  BOOST_TEST(parse_duration("l", "1.5ms") == 1.5 * 1e-3);
  BOOST_TEST(parse_duration("l", "2 s") == 2.0);
  BOOST_TEST(parse_duration("l", "0s") == 0.0);
  for (const std::string& text : kInvalidDurations)
    BOOST_CHECK_THROW(parse_duration("l", text), ArgumentError);
}

BOOST_AUTO_TEST_CASE(byte_counts_are_parsed_with_units) {
  BOOST_TEST(parse_bytes("b", "1000") == 1000U);
  BOOST_TEST(parse_bytes("b", "1KiB") == 1024U);
  BOOST_TEST(parse_bytes("b", "500MiB") == 500U << 20);
  BOOST_TEST(parse_bytes("b", "1.5 gb") == std::uint64_t{3} << 29);
  BOOST_TEST(parse_bytes("b", "2g") == std::uint64_t{2} << 30);
  BOOST_TEST(parse_bytes("b", "10B") == 10U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
