// Shapes of the API, and of what the page keeps. Types only; not shipped.

export type RunState = 'running' | 'awaiting_input' | 'completed'
    | 'incomplete' | 'failed' | 'stopped';
export type Depth = 'normal' | 'deep';
export type Mode = 'auto' | 'background' | 'deep';

export interface Conversation {
    id: string;
    title: string;
    created_at: number;
    updated_at: number;
    active_runs: number;
    unread: number;
}

export interface Message {
    id: string;
    conversation_id: string;
    role: 'user';
    body: string;
    run_id: string | null;
    handoff_ids: string[];
    created_at: number;
}

export interface Quota { used: number; limit: number }

export interface Answer {
    revision: number;
    parts: number;
    body?: string;
    complete: boolean;
    /** Not the report: what there was of it so far. */
    draft: boolean;
}

export interface Coverage {
    source: 'request' | 'handoff';
    id: string;
    status: 'covered' | 'partial' | 'not_covered';
    note: string;
    /** Numbers of the sources that it rests on. */
    evidence: number[];
}

export interface Run {
    id: string;
    conversation_id: string;
    message_id: string | null;
    kind: 'short' | 'research';
    depth: Depth;
    state: RunState;
    phase: string;
    reason: string | null;
    title: string;
    progress: string;
    lead: string | null;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    continues: string | null;
    question: string | null;
    /** A call that waits for the person. */
    approval?: Approval | null;
    missing_info: string;
    budget: {
        requests: Quota;
        tool_calls: Quota;
        seconds: Quota;
        tokens: Quota & { unknown_requests: number };
    };
    coverage: Coverage[];
    answer: Answer;
}

export interface Approval {
    id: string;
    run_id: string;
    tool_call_id: string;
    tool: string;
    server: string | null;
    arguments: string;
    reason: 'configured' | 'acts';
    /** It was allowed before, and its server has changed the tool since. */
    changed: boolean;
    state: 'open' | 'approved_once' | 'approved_run' | 'denied' | 'void';
    note: string | null;
    created_at: number;
    decided_at: number | null;
}

export interface Handoff {
    id: string;
    kind: 'adjustment' | 'reply';
    message_id: string;
    run_id: string;
    origin: 'panel' | 'entry' | 'continuation';
    state: 'received' | 'handed' | 'not_applied';
    reason: string | null;
    request_id: string | null;
    created_at: number;
    handed_at: number | null;
}

export interface Request {
    id: string;
    run_id: string;
    purpose: string;
    state: string;
    cause: string | null;
    usage: {
        known: boolean;
        input_tokens: number | null;
        output_tokens: number | null;
        /** Of the input, from the provider's cache; null: not told. */
        cached_tokens: number | null;
        estimate: number;
    };
    sent_at: number | null;
    ended_at: number | null;
}

export interface ToolCall {
    id: string;
    run_id: string;
    request_id: string;
    name: string;
    arguments: string | Record<string, unknown>;
    /** They are longer; whole at calls/{id}/arguments. */
    arguments_cut?: boolean;
    state: string;
    cause: string | null;
    summary: string;
    error: string | null;
    /** The call whose outcome it shares. */
    repeats: string | null;
    /** What the person was asked about it. */
    approval?: { id: string, state: Approval['state'], unanswered: boolean,
        note: string | null } | null;
    started_at: number | null;
    ended_at: number | null;
}

export interface Source {
    id: string;
    run_id: string;
    n: number;
    title: string;
    location: string;
    heading: string;
    text: string;
    /** It is longer; whole at sources/{id}/text. */
    text_cut: boolean;
}

export interface Change {
    seq: number;
    kind: string;
    conversation_id: string | null;
    run_id: string | null;
    message?: Message;
    run?: Run;
    revision?: number;
    part?: number;
    text?: string;
    handoff?: Handoff;
    request?: Request;
    tool_call?: ToolCall;
    source?: Source;
    conversation?: Conversation;
    notification?: Notification;
}

export interface Changes {
    changes: Change[];
    next: number;
    reset: boolean;
    feed: string;
}

export interface Health {
    status: string;
    version: string;
    runtime: 'ok' | 'absent';
    model: 'ok' | 'unauthorized' | 'unreachable' | 'unknown';
    library?: 'ok' | 'failing';
    storage?: 'ok' | 'full' | 'read_only' | 'failing' | 'damaged' | 'log_large' | 'replaced';
    model_name?: string;
    offline?: boolean;
}

/** What tools depend on: a server of tools, or the search service. */
export interface ToolServer {
    kind: 'mcp' | 'search';
    name: string;
    state: 'ok' | 'unauthorized' | 'unreachable' | 'unknown';
    /** A few words of why, or ''. */
    detail: string;
    tools: number;
    changed_at: number;
}

export type Scope = 'read' | 'write' | 'admin';

/** What whoever asks may do; whether there are tokens and sessions at all. */
export interface AccessState {
    tokens: boolean;
    scope: Scope;
    session: string | null;
}

export interface Session {
    id: string;
    token_id: string;
    /** The name of its token. */
    token: string;
    scope: Scope;
    created_at: number;
    expires_at: number;
    seen_at: number;
    agent: string;
    address: string;
    current: boolean;
}

export interface SessionRead {
    as_of: number;
    feed: string;
    sessions: Session[];
}

export interface Token {
    id: string;
    name: string;
    scope: Scope;
    created_at: number;
    expires_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
}

export interface TokenRead {
    as_of: number;
    feed: string;
    tokens: Token[];
}

export interface TokenMade {
    token: Token;
    /** Told once; null when the call was replayed. */
    secret: string | null;
    replayed: boolean;
}

export interface Overview {
    as_of: number;
    feed: string;
    account: string | null;
    access?: AccessState;
    conversations: Conversation[];
    runs: Run[];
    /** Ends of research that nobody has seen yet. */
    notifications: Notification[];
    tools?: ToolServer[];
}

export interface ConversationRead {
    as_of: number;
    feed: string;
    conversation: Conversation;
    messages: Message[];
    runs: Run[];
    handoffs: Handoff[];
    has_more: boolean;
}

export interface RunRead {
    as_of: number;
    feed: string;
    run: Run;
    requests: Request[];
    tool_calls: ToolCall[];
    handoffs: Handoff[];
    sources: Source[];
}

export interface RunList {
    as_of: number;
    feed: string;
    runs: Run[];
    has_more: boolean;
}

/** A text that was found. */
export interface Found {
    kind: 'message' | 'answer' | 'report';
    conversation_id: string;
    conversation_title: string;
    message_id: string | null;
    run_id: string | null;
    title: string | null;
    snippet: string;
    at: number;
}

export interface AuditLine {
    id: string;
    at: number;
    actor: 'user' | 'session' | 'token' | 'command' | 'run' | 'runtime';
    actor_id: string | null;
    uid?: number;
    address: string | null;
    action: string;
    subject: string | null;
    outcome: string | null;
    detail: string | null;
}

export interface AuditRead {
    as_of: number;
    feed: string;
    audit: AuditLine[];
    has_more: boolean;
}

export interface LibraryDocument {
    id: string;
    name: string;
    bytes: number;
    state: 'waiting' | 'indexed' | 'failed';
    reason: string | null;
    passages: number;
    shared: boolean;
}

export interface LibraryRead {
    as_of: number;
    feed: string;
    indexing: boolean;
    failing?: { reason: string, retry_at: number } | null;
    documents: LibraryDocument[];
    next: string | null;
    shared: number;
    used: { files: number, bytes: number };
    limits: { files: number, bytes: number, file_bytes: number };
}

export interface SearchRead {
    as_of: number;
    feed: string;
    results: Found[];
    next: string | null;
    complete: boolean;
}

export interface Notification {
    id: string;
    run_id: string;
    kind: string;
    created_at: number;
    seen_at: number | null;
}

/** The reply to anything accepted: some of these, and always `as_of`. */
export interface Accepted {
    as_of: number;
    replayed?: boolean;
    conversation?: Conversation;
    message?: Message;
    run?: Run;
    handoff?: Handoff;
}

// --- what the page keeps -----------------------------------------------------

/** A thing as it was at `at` or later. */
export interface Entry<T> { at: number; value: T }

export interface Text {
    at: number;
    revision: number;
    parts: number;
    body: string;
    /** Parts that came before the ones they follow. */
    ahead: Change[];
}

export interface Thread {
    loaded: boolean;
    /** Messages in the order of their commits. */
    order: string[];
    /** Sent from here, order not yet told. */
    extra: string[];
    /** Told, but perhaps the one just being sent: not shown yet. */
    held: string[];
    hasMore: boolean;
}

export interface Details {
    loaded: boolean;
    requests: Entry<Request>[];
    calls: Entry<ToolCall>[];
    sources: Entry<Source>[];
}

/** A message on its way. Matched to its message by `key`, by nothing else. */
export interface Pending {
    key: string;
    conversation: string;
    body: string;
    mode: Mode;
    state: 'sending' | 'refused';
    detail: string;
    /** Name of the tab that wrote it. */
    tab?: string;
}

export interface Draft {
    text: string;
    mode: Mode;
    /** Key of a message that may or may not have arrived, and its text. */
    key: string;
    keyFor: string;
}

/** What is worth saying aloud. */
export type News = { kind: 'run', run: Run } | { kind: 'handoff', handoff: Handoff }
    | { kind: 'said', text: string };
