extension Room: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { room in
            room.field("id", id.rawValue)
            try room.field("settings", settings)
            room.field("settingsVersion", ifPresent: settingsVersion)
            room.field("isOpen", isOpen)
            try room.field("participants", participants)
            if let controls { try room.field("controls", controls) }
            room.field("nextJoinOrder", nextJoinOrder)
            room.field("nextPublishOrder", nextPublishOrder)
            room.key("marks" as StaticString)
            try room.object { subjects in
                for (subject, mark) in marks {
                    subjects.key(subject)
                    try mark.write(to: &subjects)
                }
            }
            room.field("nextTouch", nextTouch)
        }
    }
}

extension Participant: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { participant in
            participant.field("user", user.rawValue)
            participant.field("name", ifPresent: name)
            participant.field("role", ifPresent: role?.rawValue)
            participant.field("joinOrder", joinOrder)
            participant.field("joinedExplicitly", joinedExplicitly)
            try participant.field("streams", streams)
        }
    }
}

extension ParticipantControl: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { control in
            control.field("user", user.rawValue)
            control.field("muted", muted)
            control.field("gain", gain)
            control.field("hidden", hidden)
        }
    }
}

extension LiveStream: DocumentWritable {
    public func write(to document: inout DocumentWriter) {
        document.object { stream in
            stream.field("kind", kind.rawValue)
            stream.field("url", url)
            stream.field("audio", audio)
            stream.field("video", video)
            stream.field("publishOrder", publishOrder)
            stream.field("backup", ifPresent: backup)
        }
    }
}

extension EventMark: DocumentWritable {
    func write(to document: inout DocumentWriter) throws {
        try document.object { mark in
            mark.field("source", source)
            mark.field("sequence", ifPresent: sequence)
            try mark.field("time", ifPresent: time)
            mark.field("touched", touched)
        }
    }
}

extension RoomSettings: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { settings in
            settings.field("host", ifPresent: host?.rawValue)
            settings.field("layout", ifPresent: layout)
            if let outputs { try settings.field("outputs", outputs) }
            try settings.field("canvas", ifPresent: canvas)
            try settings.field("policy", policy)
            try settings.field("program", encoding: program)
            try settings.field("recording", encoding: recording)
            try settings.field("hls", encoding: hls)
            try settings.field("schedule", encoding: schedule)
            try settings.field("idle", encoding: idle)
            try settings.field("params", encoding: params)
        }
    }
}

extension RoomCanvas: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        document.object { fields in
            fields.field("width", canvas.width)
            fields.field("height", canvas.height)
            fields.field("fps", canvas.fps)
            fields.field("background", canvas.background.description)
            fields.field("follows", ifPresent: followsHost ? Self.hostWord : nil)
        }
    }
}

extension RoomPolicy: DocumentWritable {
    public func write(to document: inout DocumentWriter) throws {
        try document.object { policy in
            policy.field("bypass", bypass.rawValue)
            policy.field("whenHostLeaves", whenHostLeaves.rawValue)
            policy.field("maxIdleSeconds", maxIdleSeconds)
            policy.field("priority", priority)
            policy.field("whenIdle", whenIdle.rawValue)
            try policy.field("quality", encoding: quality)
            policy.field("redundancy", ifPresent: redundancy?.rawValue)
        }
    }
}
