/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-simulate-errors.h"

#include "ns3/lasthop-error-model.h"
#include "ns3/string.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace ns3
{

std::vector<std::string>
LasthopSplit(const std::string& text)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
    {
        parts.push_back(part);
    }
    return parts;
}

void
LasthopRefuse(const std::string& what)
{
    std::cerr << "lasthop-simulate: " << what << std::endl;
    std::exit(2);
}

namespace
{

/**
 * Sets a model's attributes from the command line.
 *
 * @param model the model
 * @param option that the text is of
 * @param names of the attributes
 * @param text their values, by commas
 */
void
SetAttributes(Ptr<ErrorModel> model,
              const std::string& option,
              const std::vector<std::string>& names,
              const std::string& text)
{
    auto values = LasthopSplit(text);
    bool right = values.size() == names.size();
    for (size_t i = 0; right && i < names.size(); i++)
    {
        right = model->SetAttributeFailSafe(names[i], StringValue(values[i]));
    }
    if (!right)
    {
        std::string wanted;
        for (const auto& name : names)
        {
            wanted += (wanted.empty() ? "" : ",") + name;
        }
        LasthopRefuse("--" + option + "=" + text + ": give " + wanted);
    }
}

} // namespace

void
LasthopAnyErrorModel::AddList(const std::string& file)
{
    std::ifstream in(file);
    if (!in)
    {
        LasthopRefuse(file + ": cannot be read");
    }
    std::vector<uint64_t> numbers;
    for (uint64_t number; in >> number;)
    {
        numbers.push_back(number);
    }
    auto model = CreateObject<LasthopListErrorModel>();
    model->SetLost(numbers);
    m_models.push_back(model);
}

void
LasthopAnyErrorModel::AddLoss(double loss, int64_t stream)
{
    auto model = CreateObject<RateErrorModel>();
    model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    model->SetRate(loss);
    model->AssignStreams(stream);
    m_models.push_back(model);
}

void
LasthopAnyErrorModel::AddBitErrors(double ber, int64_t stream)
{
    auto model = CreateObject<RateErrorModel>();
    model->SetUnit(RateErrorModel::ERROR_UNIT_BIT);
    model->SetRate(ber);
    model->AssignStreams(stream);
    m_models.push_back(model);
}

void
LasthopAnyErrorModel::AddTwoState(const std::string& text, int64_t stream)
{
    auto model = CreateObject<LasthopTwoStateErrorModel>();
    SetAttributes(model, "twoState", {"GoodInterval", "BadInterval", "GoodTime", "BadTime"}, text);
    model->AssignStreams(stream);
    m_models.push_back(model);
}

void
LasthopAnyErrorModel::AddBurst(const std::string& text, int64_t stream)
{
    auto model = CreateObject<LasthopGilbertErrorModel>();
    SetAttributes(model, "burst", {"Loss", "MeanBurst"}, text);
    model->AssignStreams(stream);
    m_models.push_back(model);
}

uint64_t
LasthopAnyErrorModel::GetLost() const
{
    return m_lost;
}

bool
LasthopAnyErrorModel::DoCorrupt(Ptr<Packet> packet)
{
    bool lost = false;
    for (const auto& model : m_models)
    {
        lost = model->IsCorrupt(packet) || lost;
    }
    m_lost += lost;
    return lost;
}

void
LasthopAnyErrorModel::DoReset()
{
    for (const auto& model : m_models)
    {
        model->Reset();
    }
}

void
LasthopAirErrorModel::SetErrors(Ptr<ErrorModel> errors)
{
    m_errors = errors;
}

bool
LasthopAirErrorModel::DoCorrupt(Ptr<Packet> packet)
{
    // LLC and SNAP, the EtherType last; a beacon begins with a time, an answer has nothing here.
    const std::array<uint8_t, 8> wanted{0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00};
    std::array<uint8_t, 8> found{};
    packet->CopyData(found.data(), found.size());
    return found == wanted && m_errors->IsCorrupt(packet);
}

void
LasthopAirErrorModel::DoReset()
{
    m_errors->Reset();
}

} // namespace ns3
