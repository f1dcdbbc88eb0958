/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-params.h"

#include "lasthop-agent.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <sstream>
#include <vector>

namespace ns3
{

namespace
{

/// Fractions of ratios.
constexpr double RATIO_ONE = 1024;

/// @return lrto_floor as LrtoFloor.
std::string
AttributeName(const std::string& key)
{
    std::string name;
    for (size_t i = 0; i < key.size(); i++)
    {
        if (key[i] != '_')
        {
            bool first = i == 0 || key[i - 1] == '_';
            name += first ? std::toupper(key[i]) : key[i];
        }
    }
    return name;
}

std::vector<std::string>
Words(const lh_param& param)
{
    std::istringstream all(param.words);
    std::vector<std::string> words;
    for (std::string word; all >> word;)
    {
        words.push_back(word);
    }
    return words;
}

/// @return @p value as users of ns-3 have it.
Ptr<AttributeValue>
Shown(const lh_param& param, uint64_t value)
{
    switch (param.kind)
    {
    case LH_PARAM_TIME:
        return Create<TimeValue>(NanoSeconds(value));
    case LH_PARAM_FLAG:
        return Create<BooleanValue>(value != 0);
    case LH_PARAM_CHOICE:
        return Create<StringValue>(Words(param).at(value));
    case LH_PARAM_RATIO:
        return Create<DoubleValue>(value / RATIO_ONE);
    default:
        return Create<UintegerValue>(value);
    }
}

/// Reads and writes one parameter of an agent.
class Accessor : public AttributeAccessor
{
  public:
    /// @param id number of the parameter
    explicit Accessor(uint32_t id)
        : m_id(id),
          m_param(*lhc_param(id))
    {
    }

    bool Set(ObjectBase* object, const AttributeValue& value) const override
    {
        auto agent = dynamic_cast<LasthopAgent*>(object);
        uint64_t number = 0;
        if (!agent || !Read(value, number))
        {
            return false;
        }
        LasthopParams::Of(*agent)[m_id] = number;
        return true;
    }

    bool Get(const ObjectBase* object, AttributeValue& value) const override
    {
        auto agent = dynamic_cast<const LasthopAgent*>(object);
        if (!agent)
        {
            return false;
        }
        const auto& values = LasthopParams::Of(const_cast<LasthopAgent&>(*agent));
        auto found = values.find(m_id);
        uint64_t number = found == values.end() ? m_param.initial : found->second;
        return value.DeserializeFromString(Shown(m_param, number)->SerializeToString(nullptr),
                                           nullptr);
    }

    bool HasGetter() const override
    {
        return true;
    }

    bool HasSetter() const override
    {
        return true;
    }

  private:
    /// @return whether @p value is one of the parameter's kind, which is @p number then.
    bool Read(const AttributeValue& value, uint64_t& number) const
    {
        if (auto time = dynamic_cast<const TimeValue*>(&value))
        {
            number = time->Get().GetNanoSeconds();
        }
        else if (auto flag = dynamic_cast<const BooleanValue*>(&value))
        {
            number = flag->Get();
        }
        else if (auto ratio = dynamic_cast<const DoubleValue*>(&value))
        {
            number = std::lround(ratio->Get() * RATIO_ONE);
        }
        else if (auto count = dynamic_cast<const UintegerValue*>(&value))
        {
            number = count->Get();
        }
        else if (auto word = dynamic_cast<const StringValue*>(&value))
        {
            auto words = Words(m_param);
            number = std::find(words.begin(), words.end(), word->Get()) - words.begin();
            NS_ABORT_MSG_IF(number == words.size(),
                            "LasthopAgent: " << AttributeName(m_param.key) << " \"" << word->Get()
                                             << "\" is none of: " << m_param.words);
        }
        else
        {
            return false;
        }
        return true;
    }

    uint32_t m_id;           //!< number of the parameter
    const lh_param& m_param; //!< the core's row
};

Ptr<const AttributeChecker>
Checker(const lh_param& param)
{
    switch (param.kind)
    {
    case LH_PARAM_TIME:
        return MakeTimeChecker(NanoSeconds(param.least), NanoSeconds(param.most));
    case LH_PARAM_FLAG:
        return MakeBooleanChecker();
    case LH_PARAM_CHOICE:
        return MakeStringChecker();
    case LH_PARAM_RATIO:
        return MakeDoubleChecker<double>(param.least / RATIO_ONE, param.most / RATIO_ONE);
    default:
        return MakeUintegerChecker<uint32_t>(param.least, param.most);
    }
}

/// What ns-3's own senders make better than Linux' defaults.
uint64_t
Initial(const lh_param& param)
{
    if (!std::strcmp(param.key, "rto_min"))
    {
        return LH_SEC; // TcpSocketBase's least timeout
    }
    if (!std::strcmp(param.key, "suppress"))
    {
        return LH_SUPPRESS_ON; // no sender of ns-3 has the patience (RACK) that `auto` counts on
    }
    return param.initial;
}

} // namespace

TypeId
LasthopParams::AddTo(TypeId tid)
{
    for (uint32_t id = 0; lhc_param(id); id++)
    {
        const lh_param& param = *lhc_param(id);
        std::string help = param.text;
        if (param.kind == LH_PARAM_CHOICE)
        {
            help += std::string(" One of: ") + param.words + ".";
        }
        tid = tid.AddAttribute(AttributeName(param.key),
                               help,
                               *Shown(param, Initial(param)),
                               Create<Accessor>(id),
                               Checker(param));
    }
    return tid;
}

LasthopParams::Values&
LasthopParams::Of(LasthopAgent& agent)
{
    return agent.m_params;
}

lh_config
LasthopParams::Config(const Values& values)
{
    lh_config config;
    lhc_config_init(&config);
    for (auto [id, value] : values)
    {
        const lh_param& param = *lhc_param(id);
        char* field = reinterpret_cast<char*>(&config) + param.offset;
        if (param.kind == LH_PARAM_TIME)
        {
            std::memcpy(field, &value, sizeof(value));
        }
        else
        {
            uint32_t word = value;
            std::memcpy(field, &word, sizeof(word));
        }
    }
    return config;
}

} // namespace ns3
