// Command-line options generated from the fields of a config, so that every new field automatically
// becomes an option.
#pragma once

#include <map>
#include <set>
#include <string>

#include "weft/models/fields/field_list.h"
#include "weft/models/program/options/options.h"

namespace weft::program {

/// Help texts by field name, for commands that describe a field more precisely than the field's own
/// help text.
using FieldHelp = std::map<std::string, std::string, std::less<>>;

/// Adds "--field-name" for every field that is not in `skip`. A bool becomes a flag with an
/// additional "--no-" form. The given values are stored in `given`, which must outlive `options`.
void add_field_options(OptionList& options, const std::string& group, const FieldListBase& fields,
                       const std::set<std::string>& skip, FieldTexts& given,
                       const FieldHelp& help = {});

/// Returns the name of the option for a field: "layer_norm_eps" -> "--layer-norm-eps".
std::string option_name(const std::string& field);

}  // namespace weft::program
