import EventSubscription
import Foundation
import MixModel

/// The actions of subscriptions: parameters in, answers out.
struct WireSubscriptionActions: Sendable {
    let subscriptions: any WireSubscriptions
    /// Where may be called back.
    let callbacks: AllowList

    // MARK: Channels

    func create(_ call: WireCall) async throws -> [String: JSONValue] {
        let wanted = try channelSubscription(call)
        return ["SubscribeId": .string(try await subscriptions.createChannelSubscription(wanted, of: call.app))]
    }

    func update(_ call: WireCall) async throws -> [String: JSONValue] {
        let id = try call.parameters.required("SubscribeId", "the subscription's id")
        try await subscriptions.updateChannelSubscription(id, to: try channelSubscription(call), of: call.app)
        return [:]
    }

    func delete(_ call: WireCall) async throws -> [String: JSONValue] {
        let id = try call.parameters.required("SubscribeId", "the subscription's id")
        try await subscriptions.deleteChannelSubscription(id, of: call.app)
        return [:]
    }

    func list(_ call: WireCall) async throws -> [String: JSONValue] {
        let all = try await subscriptions.channelSubscriptions(of: call.app)
        let subscribers = all.map { id, subscription -> JSONValue in
            .object([
                "SubId": .string(id), "ChannelId": .string(subscription.channel ?? "*"),
                "CallbackUrl": .string(subscription.url),
                "Events": .array(subscription.events.map { .string($0.rawValue) }),
                "Users": .array(subscription.users.map { .string($0) }),
                "CreateTime": .string(Self.chinaTime(subscription.createdAt)),
                "ModifyTime": .string(Self.chinaTime(subscription.changedAt)), "Roles": .number(0),
            ])
        }
        return ["Subscribers": .array(subscribers)]
    }

    func listAttempts(_ call: WireCall) async throws -> [String: JSONValue] {
        let times = 0...4_102_444_800
        let (from, until) = (
            try call.parameters.requiredInteger("StartTime", in: times),
            try call.parameters.requiredInteger("EndTime", in: times)
        )
        let (page, query) = try await attempts(
            call, .channels, Double(from), Double(until), subscription: call.parameters["SubscribeId"])
        let logs = page.attempts.map { attempt -> JSONValue in
            .object([
                "AppId": .string(call.app.rawValue), "SubId": .string(attempt.subscription),
                "MessageId": .string(attempt.message), "Time": .string(Self.chinaTime(attempt.time)),
                "Url": .string(attempt.url), "Code": .number(Double(attempt.status)),
                "Cost": .number(Double(attempt.milliseconds)), "Data": .string(attempt.body),
            ])
        }
        return answer(logs, page, query)
    }

    private func channelSubscription(_ call: WireCall) throws -> ChannelSubscription {
        let parameters = call.parameters
        let url = try callbackURL(parameters.required("CallbackUrl", "where to send events, as https://host/path"))
        let names = try parameters.list("Events", atMost: 16)
        guard !names.isEmpty else { throw CallError.missing("Events.1", "ChannelEvent or UserEvent") }
        var events: [ChannelSubscription.Event] = []
        for (index, name) in names.enumerated() {
            guard let event = ChannelSubscription.Event(rawValue: name) else {
                throw CallError.invalid("Events.\(index + 1)", name, "ChannelEvent or UserEvent")
            }
            if !events.contains(event) { events.append(event) }
        }
        let channel = parameters["ChannelId"].flatMap { $0 == "*" ? nil : $0 }
        if let channel { _ = try TaskParameters.name("ChannelId", channel, longest: 64) }
        let users = try parameters.list("Users", atMost: 100)
        guard users.isEmpty || parameters["ChannelId"] != nil else {
            throw CallError.missing("ChannelId", "the channel that the Users are in")
        }
        for (index, user) in users.enumerated() where user.utf8.count > EventParser.longestIdentifier {
            throw CallError.invalid(
                "Users.\(index + 1)", user, "at most \(EventParser.longestIdentifier) bytes")
        }
        return ChannelSubscription(url: url, events: events, channel: channel, users: users)
    }

    // MARK: Tasks

    func createOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        let url = try callbackURL(
            call.parameters.required("CallbackUrl", "where to send events, as https://host/path"))
        let wanted = TaskSubscription(url: url, channels: try channels(call))
        return ["SubId": .string(try await subscriptions.createTaskSubscription(wanted, of: call.app))]
    }

    func updateOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        let url = try call.parameters["CallbackUrl"].map { try callbackURL($0) }
        let channels = try channels(call)
        let id = try await subscriptions.updateTaskSubscription(of: call.app) { subscription in
            if let url { subscription.url = url }
            if let channels { subscription.channels = channels }
        }
        return ["SubId": .string(id)]
    }

    func deleteOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        try await subscriptions.deleteTaskSubscription(of: call.app)
        return [:]
    }

    func describeOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        guard let (id, subscription) = try await subscriptions.taskSubscription(of: call.app) else {
            return ["SubInfo": .object([:])]
        }
        return [
            "SubInfo": .object([
                "AppId": .string(call.app.rawValue), "SubId": .string(id), "CallbackUrl": .string(subscription.url),
                "ChannelIds": .string(subscription.channels?.joined(separator: ",") ?? ""),
                "CreateTime": .string(Self.universalTime(subscription.createdAt)),
            ])
        ]
    }

    func listAttemptsOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        let (from, until) = (try time("StartTime", call), try time("EndTime", call))
        let (page, query) = try await attempts(call, .tasks, from, until, subscription: call.parameters["SubId"])
        let logs = page.attempts.map { attempt -> JSONValue in
            .object([
                "AppId": .string(call.app.rawValue), "SubId": .string(attempt.subscription),
                "MsgId": .string(attempt.message), "CallbackUrl": .string(attempt.url),
                "Time": .string(Self.universalTime(attempt.time)), "HTTPCode": .string("\(attempt.status)"),
                "Cost": .number(Double(attempt.milliseconds)), "Data": .string(attempt.body),
            ])
        }
        return answer(logs, page, query)
    }

    private func channels(_ call: WireCall) throws -> [String]? {
        guard let text = call.parameters["ChannelIds"] else { return nil }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard names.count <= 20 else {
            throw CallError.invalid("ChannelIds", "\(names.count) channels; expected at most 20")
        }
        for name in names { _ = try TaskParameters.name("ChannelIds", name, longest: 64) }
        guard Set(names).count == names.count else {
            throw CallError.invalid("ChannelIds", text, "each channel once")
        }
        return names
    }

    // MARK: Parts

    /// In seconds.
    private static let logLifetime = 7 * 86_400.0

    private func attempts(
        _ call: WireCall, _ kind: DeliveryQuery.Kind, _ from: Double, _ until: Double, subscription: String?
    ) async throws -> (DeliveryPage, DeliveryQuery) {
        guard from <= until else { throw CallError.invalid("EndTime", "it lies before StartTime") }
        guard until - from <= Self.logLifetime else {
            throw CallError.invalid("EndTime", "more than 7 days after StartTime; expected at most 7")
        }
        let number = try call.parameters.requiredInteger("PageNo", in: 1...1_000_000)
        let size = try call.parameters.requiredInteger("PageSize", in: 1...100)
        let query = DeliveryQuery(
            kind: kind, subscription: subscription, times: from...until, skipping: (number - 1) * size, limit: size)
        return (try await subscriptions.attempts(query, of: call.app), query)
    }

    private func answer(_ logs: [JSONValue], _ page: DeliveryPage, _ query: DeliveryQuery) -> [String: JSONValue] {
        ["Count": .number(Double(logs.count)), "HasMore": .boolean(page.hasMore), "Logs": .array(logs)]
    }

    private func time(_ name: String, _ call: WireCall) throws -> Double {
        let expected = "a time in UTC, as 2026-01-31T12:00:00Z"
        let text = try call.parameters.required(name, expected)
        guard let time = Timestamp.seconds(text) else { throw CallError.invalid(name, text, expected) }
        return time
    }

    private func callbackURL(_ text: String) throws -> String {
        let isPlain =
            text.utf8.count <= 2083
            && text.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return character.isASCII && (character.isLetter || character.isNumber)
                    || "-_?%=#./+:&[]~".contains(character)
            }
        guard isPlain else {
            throw CallError.invalid("CallbackUrl", text, "at most 2083 letters, digits and -_?%=#./+")
        }
        do throws(InputError) {
            _ = try callbacks.check(text, schemes: [.http, .https], field: "CallbackUrl", setting: "callbacks.allow")
        } catch {
            throw CallError.invalid("CallbackUrl", "found \(error.found ?? "no such URL"); expected \(error.expected)")
        }
        return text
    }

    /// `yyyy-MM-dd HH:mm:ss` in UTC+8.
    static func chinaTime(_ seconds: Double) -> String {
        universalTime(seconds + 8 * 3600).replacing("T", with: " ").replacing("Z", with: "")
    }

    /// `yyyy-MM-ddTHH:mm:ssZ`.
    static func universalTime(_ seconds: Double) -> String {
        Date(timeIntervalSince1970: seconds.rounded(.down)).formatted(.iso8601)
    }
}
