import { install } from 'undici';

// The `fetch` built into Node 24 ends the process when a server closes the connection while a body is unread (nodejs/undici#5360): a long error page of
// an identity provider would end a gateway. Libraries call the global one, so it is replaced by that of a release without the defect.
install();
