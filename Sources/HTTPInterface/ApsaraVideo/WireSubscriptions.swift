import EventSubscription
import Foundation
import MixModel
import RoomService
import TaskStore
import TextFormats

/// The actions of subscriptions, which turn parameters into answers.
package struct WireSubscriptions: Sendable {
    let registry: SubscriptionRegistry

    package init(registry: SubscriptionRegistry) {
        self.registry = registry
    }

    // MARK: Channels

    func create(_ call: WireCall) async throws -> [String: JSONValue] {
        let wanted = try channelSubscription(call)
        let made = try await registry.make(
            Subscription(
                id: SubscriptionRegistry.newID(), app: call.app, kind: .roomEvents, url: wanted.url,
                rooms: wanted.rooms, users: wanted.users, topics: wanted.topics, createdAt: wallClock()))
        return ["SubscribeId": .string(made.subscription.document.id.rawValue)]
    }

    func update(_ call: WireCall) async throws -> [String: JSONValue] {
        let id = try id(call)
        let wanted = try channelSubscription(call)
        _ = try await registry.change(id, of: call.app, [.roomEvents]) { subscription throws(OrchestratorError) in
            subscription.url = wanted.url
            subscription.rooms = wanted.rooms
            subscription.users = wanted.users
            subscription.topics = wanted.topics
        }
        return [:]
    }

    func delete(_ call: WireCall) async throws -> [String: JSONValue] {
        try await registry.remove(try id(call), of: call.app, [.roomEvents])
        return [:]
    }

    func list(_ call: WireCall) async throws -> [String: JSONValue] {
        let subscribers = registry.subscriptions(of: call.app, [.roomEvents]).map { subscription -> JSONValue in
            let names = Self.events.filter { subscription.topics?.isSuperset(of: $0.value) ?? true }.map(\.key)
            return .object([
                "SubId": .string(subscription.id.rawValue), "ChannelId": .string(subscription.rooms?.first ?? "*"),
                "CallbackUrl": .string(subscription.url), "Events": .array(names.map { .string($0) }),
                "Users": .array((subscription.users ?? []).map { .string($0.rawValue) }),
                "CreateTime": .string(Self.chinaTime(subscription.createdAt)),
                "ModifyTime": .string(Self.chinaTime(subscription.modifiedAt)), "Roles": .number(0),
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
        return try await attempts(
            call, .roomEvents, Double(from), Double(until), subscription: call.parameters["SubscribeId"]
        ) { logged in
            [
                "MessageId": .string(logged.message), "Time": .string(Self.chinaTime(logged.attempt.at)),
                "Url": .string(logged.attempt.url), "Code": .number(Double(logged.attempt.code ?? 0)),
            ]
        }
    }

    private static let events: KeyValuePairs<String, Set<Topic>> = [
        "ChannelEvent": Topic.ofChannels, "UserEvent": Topic.ofUsers,
    ]

    private struct Wanted {
        var url: String
        var topics: Set<Topic>
        var rooms: [String]?
        var users: [UserID]?
    }

    private func id(_ call: WireCall) throws(CallError) -> SubscriptionID {
        SubscriptionID(try call.parameters.required("SubscribeId", "the subscription's id"))
    }

    private func channelSubscription(_ call: WireCall) throws -> Wanted {
        let parameters = call.parameters
        let url = try callbackURL(
            parameters.required("CallbackUrl", "the URL to send events to, such as https://host/path"))
        let names = try parameters.list("Events", atMost: 16)
        guard !names.isEmpty else { throw CallError.missing("Events.1", "ChannelEvent or UserEvent") }
        var topics: Set<Topic> = []
        for (index, name) in names.enumerated() {
            guard let event = Self.events.first(where: { $0.key == name }) else {
                throw CallError.invalid("Events.\(index + 1)", name, "ChannelEvent or UserEvent")
            }
            topics.formUnion(event.value)
        }
        let channel = parameters["ChannelId"].flatMap { $0 == "*" ? nil : $0 }
        if let channel { _ = try TaskParameters.name("ChannelId", channel, longest: 64) }
        let users = try parameters.list("Users", atMost: 100)
        guard users.isEmpty || parameters["ChannelId"] != nil else {
            throw CallError.missing("ChannelId", "the channel that the Users are in")
        }
        for (index, user) in users.enumerated() { _ = try TaskParameters.user(user, "Users.\(index + 1)") }
        return Wanted(
            url: url, topics: topics, rooms: channel.map { [$0] },
            users: users.isEmpty ? nil : users.map { UserID($0) })
    }

    // MARK: Tasks

    func createOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        let url = try callbackURL(
            call.parameters.required("CallbackUrl", "the URL to send events to, such as https://host/path"))
        let made = try await registry.make(
            Subscription(
                id: SubscriptionRegistry.newID(), app: call.app, kind: .taskEvents, url: url,
                rooms: try channels(call), createdAt: wallClock()))
        return ["SubId": .string(made.subscription.document.id.rawValue)]
    }

    func updateOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        let url = try call.parameters["CallbackUrl"].map { try callbackURL($0) }
        let channels = try channels(call)
        let id = try ofTasks(call.app).id
        _ = try await registry.change(id, of: call.app, [.taskEvents]) { subscription throws(OrchestratorError) in
            if let url { subscription.url = url }
            if let channels { subscription.rooms = channels }
        }
        return ["SubId": .string(id.rawValue)]
    }

    func deleteOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        try await registry.remove(try ofTasks(call.app).id, of: call.app, [.taskEvents])
        return [:]
    }

    func describeOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        guard let subscription = registry.subscriptions(of: call.app, [.taskEvents]).first else {
            return ["SubInfo": .object([:])]
        }
        return [
            "SubInfo": .object([
                "AppId": .string(call.app.rawValue), "SubId": .string(subscription.id.rawValue),
                "CallbackUrl": .string(subscription.url),
                "ChannelIds": .string(subscription.rooms?.joined(separator: ",") ?? ""),
                "CreateTime": .string(Self.universalTime(subscription.createdAt)),
            ])
        ]
    }

    func listAttemptsOfTasks(_ call: WireCall) async throws -> [String: JSONValue] {
        let (from, until) = (try time("StartTime", call), try time("EndTime", call))
        return try await attempts(call, .taskEvents, from, until, subscription: call.parameters["SubId"]) { logged in
            [
                "MsgId": .string(logged.message), "Time": .string(Self.universalTime(logged.attempt.at)),
                "CallbackUrl": .string(logged.attempt.url), "HTTPCode": .string("\(logged.attempt.code ?? 0)"),
            ]
        }
    }

    private func ofTasks(_ app: AppID) throws(CallError) -> Subscription {
        guard let subscription = registry.subscriptions(of: app, [.taskEvents]).first else {
            throw .invalid("AppId", "\(app) has no task subscription: create one with CreateRtcMPUEventSub")
        }
        return subscription
    }

    private func channels(_ call: WireCall) throws -> [String]? {
        guard let text = call.parameters["ChannelIds"] else { return nil }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmed
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

    private func attempts(
        _ call: WireCall, _ kind: Subscription.Kind, _ from: Double, _ until: Double, subscription: String?,
        _ fields: (LoggedAttempt) -> [String: JSONValue]
    ) async throws -> [String: JSONValue] {
        guard from <= until else { throw CallError.invalid("EndTime", "it is before StartTime") }
        guard until - from <= SubscriptionRegistry.logAge else {
            throw CallError.invalid("EndTime", "more than 7 days after StartTime; expected at most 7")
        }
        let number = try call.parameters.requiredInteger("PageNo", in: 1...1_000_000)
        let size = try call.parameters.requiredInteger("PageSize", in: 1...100)
        let (attempts, hasMore) = try await registry.attempts(
            of: call.app, [kind], subscription: subscription.map { SubscriptionID($0) }, in: from...until, page: number,
            size: size)
        let logs = attempts.map { logged -> JSONValue in
            var log = fields(logged)
            log["AppId"] = .string(call.app.rawValue)
            log["SubId"] = .string(logged.subscription.rawValue)
            log["Cost"] = .number(Double(logged.attempt.milliseconds))
            log["Data"] = .string(String(decoding: logged.body, as: UTF8.self))
            return .object(log)
        }
        return ["Count": .number(Double(logs.count)), "HasMore": .boolean(hasMore), "Logs": .array(logs)]
    }

    private func time(_ name: String, _ call: WireCall) throws -> Double {
        let expected = "a time in UTC, such as 2026-01-31T12:00:00Z"
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
            try registry.check(text, field: "CallbackUrl")
        } catch {
            throw CallError.invalid("CallbackUrl", "found \(error.found ?? "no such URL"); expected \(error.expected)")
        }
        return text
    }

    /// Formats a time as `yyyy-MM-dd HH:mm:ss` in UTC+8.
    ///
    /// - Parameter seconds: Seconds since 1970.
    static func chinaTime(_ seconds: Double) -> String {
        universalTime(seconds + 8 * 3600).replacing("T", with: " ").replacing("Z", with: "")
    }

    /// Formats a time as `yyyy-MM-ddTHH:mm:ssZ`.
    ///
    /// - Parameter seconds: Seconds since 1970.
    static func universalTime(_ seconds: Double) -> String {
        Date(timeIntervalSince1970: seconds.rounded(.down)).formatted(.iso8601)
    }
}
