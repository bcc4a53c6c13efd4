extension RoomEvent: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { event in
            event.field("room", room.rawValue)
            event.field("app", app)
            event.field("source", source)
            event.field("id", id)
            event.field("sequence", ifPresent: sequence)
            try event.field("time", ifPresent: time)
            try event.field("kind", kind)
        }
    }
}

extension RoomEvent.Kind: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { kind in
            switch self {
            case .streamPublished(let publication):
                try kind.values(of: "streamPublished") { try $0.field("_0", publication) }
            case .streamUpdated(let update): try kind.values(of: "streamUpdated") { try $0.field("_0", update) }
            case .streamUnpublished(let user, let stream, let reason):
                kind.values(of: "streamUnpublished") { values in
                    values.field("user", user.rawValue)
                    values.field("stream", stream.rawValue)
                    values.field("reason", ifPresent: reason)
                }
            case .participantJoined(let user, let role, let name):
                kind.values(of: "participantJoined") { values in
                    values.field("user", user.rawValue)
                    values.field("role", ifPresent: role?.rawValue)
                    values.field("name", ifPresent: name)
                }
            case .participantLeft(let user):
                kind.values(of: "participantLeft") { $0.field("user", user.rawValue) }
            case .roomOpened: kind.values(of: "roomOpened")
            case .roomClosed: kind.values(of: "roomClosed")
            case .roomSnapshot(let snapshot):
                try kind.values(of: "roomSnapshot") { try $0.field("_0", encoding: snapshot) }
            }
        }
    }
}

extension Publication: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { publication in
            publication.field("user", user.rawValue)
            publication.field("stream", stream.rawValue)
            publication.field("url", url)
            publication.field("audio", audio)
            publication.field("video", video)
            publication.field("role", ifPresent: role?.rawValue)
            publication.field("backup", ifPresent: backup)
        }
    }
}

extension StreamUpdate: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { update in
            update.field("user", user.rawValue)
            update.field("stream", stream.rawValue)
            update.field("audio", ifPresent: audio)
            update.field("video", ifPresent: video)
            update.field("role", ifPresent: role?.rawValue)
        }
    }
}
